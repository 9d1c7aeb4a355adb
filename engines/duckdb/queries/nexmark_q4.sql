-- Adds the winning prices of each step in which auctions of a category closed.
SELECT ts, category, sum(count) OVER so_far::BIGINT AS auctions, sum(total) OVER so_far / auctions AS average
FROM (
    SELECT expires // number('every_ms') * number('every_ms') + 2 * number('every_ms') AS ts, category,
        count(*) AS count, sum(price)::BIGINT AS total
    FROM winning_bids
    GROUP BY ALL
)
WHERE ts <= (SELECT max(ts) FROM event_events)
WINDOW so_far AS (PARTITION BY category ORDER BY ts)
ORDER BY ts
