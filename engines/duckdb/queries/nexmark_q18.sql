-- Selects the last bid of each step, bidder and auction.
WITH bids AS (
    SELECT (e.ts // number('every_ms') + 1) * number('every_ms') AS ts, auction, person AS bidder, price, channel,
        e.ts AS bid_ts, extra, src, row
    FROM event_events e
    WHERE type = 2
)
SELECT * EXCLUDE (src, row)
FROM bids
WHERE ts <= (SELECT max(ts) FROM event_events)
QUALIFY row_number() OVER (PARTITION BY ts, bidder, auction ORDER BY bid_ts DESC, src DESC, row DESC) = 1
ORDER BY ts
