-- Selects and converts bids, and adds the part of the day and the number of letters c in `extra`.
-- `extra` is a text of six letters as a number of base 26.
CREATE OR REPLACE TEMP MACRO letter(text, place) AS text // pow(26, place)::INTEGER % 26;
SELECT ts, auction, person AS bidder, (price * 908 + 500) // 1000 AS price,
    CASE WHEN ts // 3600000 % 24 BETWEEN 8 AND 18 THEN 0
        WHEN ts // 3600000 % 24 BETWEEN 7 AND 19 THEN 2 ELSE 1 END::TINYINT AS day_part,
    extra, len(list_filter(range(6), lambda place: letter(extra, place) = 2))::INTEGER AS c_count
FROM event_events
WHERE type = 2 AND price * 908 > 1000000000 AND price * 908 < 50000000000
ORDER BY ts, src, row
