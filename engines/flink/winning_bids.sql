CREATE TEMPORARY FUNCTION winning_bids AS 'streamlab.WinningBids';
CREATE TEMPORARY VIEW offers AS
SELECT auction, `type`, person, price, reserve, expires, category, name, ts, time_
FROM row_events
WHERE `type` <> 0;
CREATE TEMPORARY VIEW winners AS
SELECT *
FROM winning_bids(offers => TABLE offers PARTITION BY auction, every_ms => CAST({every_ms} AS BIGINT),
    on_time => DESCRIPTOR(time_), uid => 'winners');
