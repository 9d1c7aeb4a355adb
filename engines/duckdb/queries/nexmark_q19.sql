-- Ranks each bid among the ten highest of its auction before it.
WITH bids AS (
    SELECT *, max(price, 10) OVER (
        PARTITION BY auction ORDER BY ts, src, row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS highest
    FROM event_events
    WHERE type = 2
)
SELECT ts, auction, (1 + coalesce(len(list_filter(highest, lambda other: other >= price)), 0))::INTEGER AS rank,
    person AS bidder, price, channel, extra
FROM bids
WHERE rank <= 10
ORDER BY ts, src, row
