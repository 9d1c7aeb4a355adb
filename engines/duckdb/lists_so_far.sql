-- The lists of everything `seen` so far together with the wanted item, at the end of every hour but the last.
WITH pairs AS MATERIALIZED (
    SELECT ts, floor_div(ts, number('hour_ms')) AS hour, other FROM seen
), hours AS (
    SELECT hour, lead(min(ts)) OVER (ORDER BY hour) AS ts FROM pairs GROUP BY hour
), news AS (
    SELECT hour, other, count(*) AS new FROM pairs GROUP BY ALL
), counts AS (
    -- Every hour has a list of all items so far, also of those that it has not seen.
    SELECT hour, ts, other,
        (sum(new) OVER (PARTITION BY other ORDER BY hour ROWS UNBOUNDED PRECEDING))::BIGINT AS count
    FROM hours CROSS JOIN (SELECT DISTINCT other FROM news) LEFT JOIN news USING (hour, other)
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY hour ORDER BY count DESC, other) AS rank
    FROM counts
    WHERE count > 0 AND ts IS NOT NULL
)
SELECT ts, hour * number('hour_ms') AS since, rank, number('item') AS item_1, other AS item_2, count
FROM ranked
WHERE rank <= number('top')
ORDER BY hour, rank
