CREATE TEMPORARY FUNCTION millis AS 'streamlab.Millis';
CREATE TEMPORARY VIEW bids AS
SELECT window_start, window_end, auction, person, price, ts, extra
FROM TABLE(TUMBLE(TABLE row_events, DESCRIPTOR(time_), {size}))
WHERE `type` = 2;
CREATE TEMPORARY VIEW highest AS
SELECT window_start, window_end, MAX(price) AS price
FROM bids
GROUP BY window_start, window_end;
SELECT millis(b.window_end) + {size_ms} AS ts, b.auction, b.person AS bidder, b.price, b.ts AS bid_ts, b.extra
FROM bids AS b JOIN highest AS h
ON b.window_start = h.window_start AND b.window_end = h.window_end AND b.price = h.price
