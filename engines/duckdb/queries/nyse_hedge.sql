-- With d = (price - average) / average, a pair matches if the right trade's d is between `lower` and `upper` times the
-- left trade's d. Each left trade is copied to all bins of d and of time that its range and its window reach. Trades of
-- a bin are paired, and then the exact condition is tested, without division.
WITH lefts AS (
    SELECT ts AS l_ts, id AS l_id, price AS l_price,
        (price::BIGINT - average)::DOUBLE AS l_moved, average::DOUBLE AS l_average,
        l_moved / l_average * getvariable('lower')::DOUBLE AS one,
        l_moved / l_average * getvariable('upper')::DOUBLE AS other,
        -- Quotients are rounded, so the range is widened a little.
        least(one, other) - abs(least(one, other)) * 1e-9 AS lowest,
        greatest(one, other) + abs(greatest(one, other)) * 1e-9 AS highest
    FROM left_events
    WHERE average <> 0 AND price <> average
), copies AS (
    SELECT *, unnest(range(bin_of(lowest), bin_of(highest) + 1)) AS bin,
        floor_div(l_ts - number('ws_ms'), 2 * number('ws_ms') + 1) + part.n AS part
    FROM lefts, range(2) part(n)
), rights AS (
    SELECT ts AS r_ts, id AS r_id, price AS r_price,
        (price::BIGINT - average)::DOUBLE AS r_moved, average::DOUBLE AS r_average,
        bin_of(r_moved / r_average) AS bin,
        floor_div(ts, 2 * number('ws_ms') + 1) AS part
    FROM right_events
    WHERE average <> 0
), near AS (
    SELECT *, r_moved * l_average AS num,
        getvariable('lower')::DOUBLE * (l_moved * r_average) AS low,
        getvariable('upper')::DOUBLE * (l_moved * r_average) AS high
    FROM copies JOIN rights USING (bin, part)
    WHERE l_id <> r_id AND abs(l_ts - r_ts) <= number('ws_ms')
)
SELECT greatest(l_ts, r_ts) + 1 AS ts, l_id, l_price, r_id, r_price
FROM near
WHERE num BETWEEN least(low, high) AND greatest(low, high)
ORDER BY ts
