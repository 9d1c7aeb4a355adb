{winning_bids}
CREATE TEMPORARY FUNCTION millis AS 'streamlab.Millis';
CREATE TEMPORARY VIEW step_sums AS
SELECT window_end, window_time, category, COUNT(*) AS auctions, SUM(price) AS prices
FROM TABLE(TUMBLE(TABLE winners, DESCRIPTOR(rowtime), {every}))
GROUP BY window_start, window_end, window_time, category;
SELECT millis(window_end) AS ts, category, SUM(auctions) OVER so_far AS auctions,
    CAST(SUM(prices) OVER so_far AS DOUBLE) / SUM(auctions) OVER so_far AS average
FROM step_sums
WINDOW so_far AS (
    PARTITION BY category ORDER BY window_time ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
)
