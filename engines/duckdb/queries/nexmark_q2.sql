-- Selects the bids for some auctions.
SELECT ts, auction, price
FROM event_events
WHERE type = 2 AND auction % number('every') = 0
ORDER BY ts, src, row
