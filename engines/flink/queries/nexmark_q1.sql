SELECT ts, auction, person AS bidder, (price * 908 + 500) / 1000 AS price, src, `row`
FROM row_events
WHERE `type` = 2
