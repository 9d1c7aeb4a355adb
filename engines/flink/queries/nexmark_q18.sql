CREATE TEMPORARY FUNCTION millis AS 'streamlab.Millis';
SELECT millis(window_end) AS ts, auction, person AS bidder, price, channel, ts AS bid_ts, extra
FROM (
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY window_start, window_end, person, auction ORDER BY ts DESC, src DESC, `row` DESC
    ) AS number_
    FROM TABLE(TUMBLE(TABLE row_events, DESCRIPTOR(time_), {every}))
    WHERE `type` = 2
)
WHERE number_ <= 1
