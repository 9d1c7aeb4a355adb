CREATE TEMPORARY VIEW bids AS
SELECT ts, src, `row`, time_, channel, ts / {day_ms} AS `day`, person, auction, price
FROM row_events
WHERE `type` = 2;
{bidding_statistics}
SELECT ts, channel, `day`, bids, bids_low, bids_middle, bids_high, bidders, bidders_low, bidders_middle, bidders_high,
    auctions, auctions_low, auctions_middle, auctions_high, src, `row`
FROM statistics
