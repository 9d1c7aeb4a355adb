SELECT GREATEST(b.ts, a.ts) AS ts, b.auction, b.person AS bidder, b.price, b.channel, b.ts AS bid_ts, a.name AS item,
    a.price AS initial_bid, a.reserve, a.ts AS opened, a.expires, a.person AS seller
FROM row_events AS b JOIN row_events AS a ON b.auction = a.auction
WHERE b.`type` = 2 AND a.`type` = 1 AND a.category = 10
