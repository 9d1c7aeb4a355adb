-- Joins the bids with a table of keys and values.
WITH side AS (
    SELECT key, (number('rows') - key)::INTEGER AS value FROM range(number('rows')) keys(key)
)
SELECT ts, auction, person AS bidder, price, value
FROM event_events JOIN side ON auction % number('rows') = side.key
WHERE type = 2
ORDER BY ts, src, row
