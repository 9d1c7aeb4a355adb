SELECT ts, auction, person AS bidder, price, channel, extra, src, `row`
FROM row_events
WHERE `type` = 2
