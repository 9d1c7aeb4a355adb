-- Numbers the sessions of each bidder, and selects the ended ones.
WITH bids AS (
    SELECT ts, person AS bidder,
        ts - lag(ts, 1, ts) OVER (PARTITION BY person ORDER BY ts) > number('gap_ms') AS begins
    FROM event_events
    WHERE type = 2
), numbered AS (
    SELECT ts, bidder, count_if(begins) OVER (PARTITION BY bidder ORDER BY ts) AS session FROM bids
), sessions AS (
    SELECT (max(ts) // number('gap_ms') + 2) * number('gap_ms') AS ends, bidder, count(*) AS bids, min(ts) AS first,
        max(ts) AS last
    FROM numbered
    GROUP BY bidder, session
)
SELECT ends AS ts, bidder, bids, first, last
FROM sessions
WHERE ends <= (SELECT max(ts) FROM event_events)
ORDER BY ends
