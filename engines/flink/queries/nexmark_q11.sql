CREATE TEMPORARY VIEW bids AS
SELECT ts, person, time_
FROM row_events
WHERE `type` = 2;
SELECT (MAX(ts) / {gap_ms} + 2) * {gap_ms} AS ts, person AS bidder, COUNT(*) AS bids, MIN(ts) AS `first`, MAX(ts) AS `last`
FROM TABLE(SESSION(TABLE bids PARTITION BY person, DESCRIPTOR(time_), {gap}))
GROUP BY person, window_start, window_end
