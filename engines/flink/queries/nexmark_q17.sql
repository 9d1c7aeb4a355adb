CREATE TEMPORARY VIEW bids AS
SELECT *, ts / {day_ms} AS `day`
FROM row_events
WHERE `type` = 2;
SELECT ts, auction, `day`,
    COUNT(*) OVER so_far AS bids,
    COUNT(CASE WHEN price < 10000 THEN 1 END) OVER so_far AS bids_low,
    COUNT(CASE WHEN price BETWEEN 10000 AND 999999 THEN 1 END) OVER so_far AS bids_middle,
    COUNT(CASE WHEN price >= 1000000 THEN 1 END) OVER so_far AS bids_high,
    MIN(price) OVER so_far AS lowest, MAX(price) OVER so_far AS highest,
    CAST(SUM(price) OVER so_far AS DOUBLE) / COUNT(*) OVER so_far AS average,
    SUM(price) OVER so_far AS `sum`,
    src, `row`
FROM bids
WINDOW so_far AS (
    PARTITION BY auction, `day` ORDER BY time_ ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
)
