-- Merges both streams by time and repeats every tuple.
SELECT ts + 1 AS ts, id, value
FROM (
    SELECT ts, id, value FROM left_events
    UNION ALL
    SELECT ts, id, value FROM right_events
)
CROSS JOIN range(number('copies'))
ORDER BY ts
