SELECT ts, auction, price, src, `row`
FROM row_events
WHERE `type` = 2 AND MOD(auction, {every}) = 0
