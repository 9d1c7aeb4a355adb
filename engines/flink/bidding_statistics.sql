CREATE TEMPORARY VIEW statistics AS
SELECT ts, src, `row`, channel, `day`,
    COUNT(*) OVER so_far AS bids,
    COUNT(low) OVER so_far AS bids_low,
    COUNT(middle) OVER so_far AS bids_middle,
    COUNT(high) OVER so_far AS bids_high,
    COUNT(DISTINCT person) OVER so_far AS bidders,
    COUNT(DISTINCT low * person) OVER so_far AS bidders_low,
    COUNT(DISTINCT middle * person) OVER so_far AS bidders_middle,
    COUNT(DISTINCT high * person) OVER so_far AS bidders_high,
    COUNT(DISTINCT auction) OVER so_far AS auctions,
    COUNT(DISTINCT low * auction) OVER so_far AS auctions_low,
    COUNT(DISTINCT middle * auction) OVER so_far AS auctions_middle,
    COUNT(DISTINCT high * auction) OVER so_far AS auctions_high
FROM (
    SELECT *,
        CASE WHEN price < 10000 THEN 1 END AS low,
        CASE WHEN price BETWEEN 10000 AND 999999 THEN 1 END AS middle,
        CASE WHEN price >= 1000000 THEN 1 END AS high
    FROM bids
)
WINDOW so_far AS (
    PARTITION BY channel, `day` ORDER BY time_ ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);
