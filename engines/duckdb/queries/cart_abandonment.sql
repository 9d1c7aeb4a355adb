-- Finds each session's last pages of type order and dynamic, then computes running sums over abandoned sessions.
WITH clicks AS (
    SELECT user, ts, page, row_number() OVER (ORDER BY ts, src, row) AS row
    FROM click_events
    WHERE user <> 0 AND sale = 0
), marked AS (
    SELECT *, ts - lag(ts) OVER (PARTITION BY user ORDER BY row) > number('gap_ms') AS begins FROM clicks
), numbered AS (
    SELECT *, count(*) FILTER (begins) OVER (PARTITION BY user ORDER BY row) AS session FROM marked
), sessions AS (
    SELECT user, session, count(*) AS length, min(ts) AS ts, min(row) AS row,
        max(row) FILTER (page = 0) AS last_order, max(row) FILTER (page = 1) AS last_dynamic
    FROM numbered
    GROUP BY user, session
), ended AS (
    -- A session ends when the user's next session begins; the last has no end.
    SELECT length, last_order, last_dynamic,
        lead(ts) OVER (PARTITION BY user ORDER BY session) AS ts,
        lead(row) OVER (PARTITION BY user ORDER BY session) AS row
    FROM sessions
)
SELECT ts, row_number() OVER earlier AS sessions, sum(length) OVER earlier AS pages,
    pages / sessions AS average
FROM ended
WHERE row IS NOT NULL AND last_dynamic > coalesce(last_order, 0)
WINDOW earlier AS (ORDER BY row ROWS UNBOUNDED PRECEDING)
ORDER BY row
