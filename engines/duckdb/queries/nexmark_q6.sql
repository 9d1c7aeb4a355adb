-- Averages the last ten winning prices of each seller, after each step in which one of its auctions closed.
SELECT ts, seller, average
FROM (
    SELECT expires // number('every_ms') * number('every_ms') + 2 * number('every_ms') AS ts, seller,
        avg(price) OVER in_turn AS average, lead(ts) OVER (PARTITION BY seller ORDER BY expires, auction) AS next
    FROM winning_bids
    WINDOW in_turn AS (PARTITION BY seller ORDER BY expires, auction ROWS 9 PRECEDING)
)
WHERE ts <= (SELECT max(ts) FROM event_events) AND ts IS DISTINCT FROM next
ORDER BY ts
