-- Joins each view with the last earlier update of its page, by an as-of join per stream and page.
WITH updates AS (
    SELECT ts, src, row, key, meta, row_number() OVER (ORDER BY ts, src, row) AS number
    FROM update_events
), since AS (
    -- The first instant of a stream after an update; streams break ties.
    SELECT s.src, u.key, u.ts + 1 - (u.src < s.src)::BIGINT AS since, arg_max(u.meta, u.number) AS meta
    FROM updates u CROSS JOIN view_streams s
    GROUP BY ALL
)
SELECT ts, kind, page, user, meta FROM (
    SELECT ts, src, row, 1 AS kind, key AS page, -1 AS user,
        coalesce(lag(meta) OVER (PARTITION BY key ORDER BY number), 0) AS meta
    FROM updates
    UNION ALL
    SELECT v.ts, v.src, v.row, 0 AS kind, v.key AS page, v.user, coalesce(s.meta, 0) AS meta
    FROM view_events v ASOF LEFT JOIN since s
        ON v.src = s.src AND v.key = s.key AND v.ts >= s.since
)
ORDER BY ts, src, row
