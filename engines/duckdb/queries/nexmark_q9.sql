-- Dates the winning bids by the end of the step in which their auction expires.
SELECT expires // number('every_ms') * number('every_ms') + number('every_ms') AS ts, auction, item, initial_bid,
    reserve, opened, expires, seller, category, bidder, price, bid_ts
FROM winning_bids
WHERE ts <= (SELECT max(ts) FROM event_events)
ORDER BY ts
