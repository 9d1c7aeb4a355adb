-- Assigns each value to the next barrier by an as-of join per stream, then sums per barrier.
WITH barriers AS (
    SELECT ts, src, row_number() OVER (ORDER BY ts, src, row) AS number FROM barrier_events
), cuts AS (
    -- The last instant of a stream before a barrier; streams break ties.
    SELECT s.src, b.ts - (b.src < s.src)::BIGINT AS until, min(b.number) AS number
    FROM barriers b CROSS JOIN value_streams s
    GROUP BY ALL
), sums AS (
    SELECT c.number, sum(v.value) AS sum
    FROM value_events v ASOF JOIN cuts c ON v.src = c.src AND v.ts <= c.until
    GROUP BY c.number
)
SELECT ts, coalesce(sum, 0)::BIGINT AS sum
FROM barriers LEFT JOIN sums USING (number)
ORDER BY number
