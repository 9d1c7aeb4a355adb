-- Joins auctions of category 10 with sellers in CA, ID and OR.
SELECT greatest(a.ts, p.ts) AS ts, p.name, p.city, p.state, a.auction
FROM event_events a JOIN event_events p ON a.person = p.person
WHERE a.type = 1 AND a.category = 10 AND p.type = 0 AND p.state IN (1, 2, 3)
ORDER BY ts
