-- Assigns each increment to the next reset of its key by an as-of join per stream and key, then counts.
WITH resets AS (
    SELECT ts, src, key, row_number() OVER (ORDER BY ts, src, row) AS number FROM read_reset_events
), cuts AS (
    SELECT s.src, r.key, r.ts - (r.src < s.src)::BIGINT AS until, min(r.number) AS number
    FROM resets r CROSS JOIN increment_streams s
    GROUP BY ALL
), counts AS (
    SELECT c.number, count(*) AS count
    FROM increment_events i ASOF JOIN cuts c ON i.src = c.src AND i.key = c.key AND i.ts <= c.until
    GROUP BY c.number
)
SELECT ts, key, coalesce(count, 0) AS count
FROM resets LEFT JOIN counts USING (number)
ORDER BY number
