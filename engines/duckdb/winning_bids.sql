-- Selects the highest bid of each auction from its opening to its expiry; of equal prices, the first.
CREATE TEMP VIEW winning_bids AS
SELECT a.auction, a.name AS item, a.price AS initial_bid, a.reserve, a.ts AS opened, a.expires, a.person AS seller,
    a.category, b.person AS bidder, b.price, b.ts AS bid_ts
FROM event_events a JOIN event_events b ON a.auction = b.auction
WHERE a.type = 1 AND b.type = 2 AND b.ts BETWEEN a.ts AND a.expires
QUALIFY row_number() OVER (PARTITION BY a.auction ORDER BY b.price DESC, b.ts, b.src, b.row) = 1;
