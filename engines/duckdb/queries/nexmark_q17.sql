-- Adds up the bids for each auction and day so far.
SELECT ts, auction, ts // number('day_ms') AS day,
    count(*) OVER so_far AS bids,
    count_if(price < 10000) OVER so_far::BIGINT AS bids_low,
    count_if(price BETWEEN 10000 AND 999999) OVER so_far::BIGINT AS bids_middle,
    count_if(price >= 1000000) OVER so_far::BIGINT AS bids_high,
    min(price) OVER so_far AS lowest, max(price) OVER so_far AS highest,
    sum(price) OVER so_far / count(*) OVER so_far AS average,
    sum(price) OVER so_far::BIGINT AS sum
FROM event_events
WHERE type = 2
WINDOW so_far AS (
    PARTITION BY auction, ts // number('day_ms') ORDER BY ts, src, row ROWS UNBOUNDED PRECEDING
)
ORDER BY ts, src, row
