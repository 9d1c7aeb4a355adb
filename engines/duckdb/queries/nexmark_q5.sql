-- Counts bids in slides, adds these in windows, and selects the auctions with the most.
WITH slides AS (
    SELECT ts // number('slide_ms') AS slide, auction, count(*) AS bids
    FROM event_events
    WHERE type = 2
    GROUP BY ALL
), windows AS (
    SELECT (slide + 2 + later) * number('slide_ms') AS ts, auction, sum(bids)::BIGINT AS bids
    FROM slides CROSS JOIN range(number('slides')) AS windows_of(later)
    GROUP BY ALL
)
SELECT ts, auction, bids
FROM windows
WHERE ts <= (SELECT max(ts) FROM event_events)
QUALIFY bids = max(bids) OVER (PARTITION BY ts)
ORDER BY ts
