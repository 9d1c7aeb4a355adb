-- Selects the bids with the highest price of their window.
WITH bids AS (
    SELECT (e.ts // number('size_ms') + 2) * number('size_ms') AS ts, auction, person AS bidder, price,
        e.ts AS bid_ts, extra
    FROM event_events e
    WHERE type = 2
)
SELECT bids.*
FROM bids JOIN (SELECT ts, max(price) AS price FROM bids GROUP BY ts) USING (ts, price)
WHERE ts <= (SELECT max(ts) FROM event_events)
ORDER BY ts
