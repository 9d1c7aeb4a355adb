SELECT GREATEST(a.ts, p.ts) AS ts, p.name, p.city, p.`state`, a.auction
FROM row_events AS a JOIN row_events AS p ON a.person = p.person
WHERE a.`type` = 1 AND a.category = 10 AND p.`type` = 0 AND p.`state` IN (1, 2, 3)
