CREATE TEMPORARY FUNCTION millis AS 'streamlab.Millis';
CREATE TEMPORARY VIEW counts AS
SELECT window_start, window_end, auction, COUNT(*) AS bids
FROM TABLE(HOP(TABLE row_events, DESCRIPTOR(time_), {slide}, {size}))
WHERE `type` = 2
GROUP BY window_start, window_end, auction;
CREATE TEMPORARY VIEW most AS
SELECT window_start, window_end, MAX(bids) AS bids
FROM counts
GROUP BY window_start, window_end;
SELECT millis(c.window_end) + {slide_ms} AS ts, c.auction, c.bids
FROM counts AS c JOIN most AS m
ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.bids = m.bids
