-- Computes the top list of all `partners` of the item so far, at the end of every hour except the last.
WITH pairs AS MATERIALIZED (
    SELECT ts, floor_div(ts, number('hour_ms')) AS hour, other FROM partners
), hours AS (
    SELECT hour, lead(min(ts)) OVER (ORDER BY hour) AS ts FROM pairs GROUP BY hour
), news AS (
    SELECT hour, other, count(*) AS new FROM pairs GROUP BY ALL
), counts AS (
    -- Every hour has a list of all items so far, including items without events in that hour.
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
