-- Joins persons with the sellers of the same window.
WITH events AS (
    SELECT (ts // number('size_ms') + 1) * number('size_ms') AS ts, type, person, name FROM event_events
)
SELECT ts, person, name
FROM events SEMI JOIN (FROM events WHERE type = 1) USING (ts, person)
WHERE type = 0 AND ts <= (SELECT max(ts) FROM event_events)
ORDER BY ts
