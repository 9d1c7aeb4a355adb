-- Sums payments per day, then fits a least-squares line to a category's days by running sums.
WITH sales AS (
    SELECT category, net_paid, ts, row_number() OVER (ORDER BY ts, src, row) AS row,
        floor_div(ts, 86400000) - number('first_day') AS day
    FROM sale_events
    WHERE getvariable('stores') IS NULL OR list_contains(getvariable('stores'), store)
), days AS (
    SELECT category, least(day, number('days')) AS x, sum(net_paid)::HUGEINT AS y, min(ts) AS ts, min(row) AS row
    FROM sales
    WHERE day >= 0
    GROUP BY category, x
), lines AS (
    -- A day ends with the category's first sale of a later day; the last day has no end.
    SELECT category, x AS day, lead(ts) OVER days AS ts, lead(row) OVER days AS row,
        count(*) OVER upto AS points,
        points * sum(x * y) OVER upto - sum(x) OVER upto * sum(y) OVER upto AS rise,
        points * sum(x * x) OVER upto - sum(x) OVER upto * sum(x) OVER upto AS run
    FROM days
    WINDOW days AS (PARTITION BY category ORDER BY x),
        upto AS (PARTITION BY category ORDER BY x ROWS UNBOUNDED PRECEDING)
)
SELECT ts, category, day, points, rise::BIGINT AS rise, run::BIGINT AS run
FROM lines
WHERE row IS NOT NULL AND points > 1 AND rise <= 0
ORDER BY row
