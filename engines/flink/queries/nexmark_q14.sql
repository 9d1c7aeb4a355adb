SELECT ts, auction, person AS bidder, (price * 908 + 500) / 1000 AS price,
    CASE WHEN MOD(ts / 3600000, 24) BETWEEN 8 AND 18 THEN 0
        WHEN MOD(ts / 3600000, 24) BETWEEN 7 AND 19 THEN 2 ELSE 1 END AS day_part,
    extra,
    CASE WHEN MOD(extra, 26) = 2 THEN 1 ELSE 0 END
        + CASE WHEN MOD(extra / 26, 26) = 2 THEN 1 ELSE 0 END
        + CASE WHEN MOD(extra / 676, 26) = 2 THEN 1 ELSE 0 END
        + CASE WHEN MOD(extra / 17576, 26) = 2 THEN 1 ELSE 0 END
        + CASE WHEN MOD(extra / 456976, 26) = 2 THEN 1 ELSE 0 END
        + CASE WHEN MOD(extra / 11881376, 26) = 2 THEN 1 ELSE 0 END AS c_count,
    src, `row`
FROM row_events
WHERE `type` = 2 AND price * 908 > 1000000000 AND price * 908 < 50000000000
