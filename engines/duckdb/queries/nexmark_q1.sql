-- Converts the prices of bids to euro cents, halves up.
SELECT ts, auction, person AS bidder, (price * 908 + 500) // 1000 AS price
FROM event_events
WHERE type = 2
ORDER BY ts, src, row
