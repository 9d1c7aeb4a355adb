{winning_bids}
SELECT ts, auction, item, initial_bid, reserve, opened, expires, seller, category, bidder, price, bid_ts
FROM winners
