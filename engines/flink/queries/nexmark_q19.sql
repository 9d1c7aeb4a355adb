SELECT ts, auction, rank_ AS `rank`, person AS bidder, price, channel, extra, src, `row`
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, ts, src, `row`) AS rank_
    FROM row_events
    WHERE `type` = 2
)
WHERE rank_ <= 10
