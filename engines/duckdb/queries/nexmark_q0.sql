-- Selects the bids.
SELECT ts, auction, person AS bidder, price, channel, extra
FROM event_events
WHERE type = 2
ORDER BY ts, src, row
