-- Counts the bids, distinct bidders and distinct auctions of a day so far, after each bid; by channel, or over all.
CREATE TEMP MACRO statistics(by_channel) AS TABLE
WITH bids AS (
    SELECT ts, src, row, ts // number('day_ms') AS day, CASE WHEN by_channel THEN channel ELSE 0 END AS channel,
        person, auction, CASE WHEN price < 10000 THEN 0 WHEN price < 1000000 THEN 1 ELSE 2 END AS part
    FROM event_events
    WHERE type = 2
), marked AS (
    SELECT *,
        row_number() OVER (PARTITION BY channel, day, person ORDER BY ts, src, row) = 1 AS bidder,
        row_number() OVER (PARTITION BY channel, day, person, part ORDER BY ts, src, row) = 1 AS bidder_of_part,
        row_number() OVER (PARTITION BY channel, day, auction ORDER BY ts, src, row) = 1 AS first,
        row_number() OVER (PARTITION BY channel, day, auction, part ORDER BY ts, src, row) = 1 AS first_of_part
    FROM bids
)
SELECT ts, src, row, channel, day,
    count(*) OVER so_far AS bids,
    count_if(part = 0) OVER so_far::BIGINT AS bids_low,
    count_if(part = 1) OVER so_far::BIGINT AS bids_middle,
    count_if(part = 2) OVER so_far::BIGINT AS bids_high,
    count_if(bidder) OVER so_far::BIGINT AS bidders,
    count_if(bidder_of_part AND part = 0) OVER so_far::BIGINT AS bidders_low,
    count_if(bidder_of_part AND part = 1) OVER so_far::BIGINT AS bidders_middle,
    count_if(bidder_of_part AND part = 2) OVER so_far::BIGINT AS bidders_high,
    count_if(first) OVER so_far::BIGINT AS auctions,
    count_if(first_of_part AND part = 0) OVER so_far::BIGINT AS auctions_low,
    count_if(first_of_part AND part = 1) OVER so_far::BIGINT AS auctions_middle,
    count_if(first_of_part AND part = 2) OVER so_far::BIGINT AS auctions_high
FROM marked
WINDOW so_far AS (PARTITION BY channel, day ORDER BY ts, src, row ROWS UNBOUNDED PRECEDING);
