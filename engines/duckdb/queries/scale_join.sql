-- Computes the band join by bins of both attributes and of time. A left tuple is copied to all bins that its bands (20
-- wide) and its window reach: two in each of three dimensions, so eight. Then the tuples of a bin are compared.
WITH lefts AS (
    SELECT ts AS left_ts, x, y,
        floor_div(x::BIGINT - 10, 21) + first.n AS first,
        floor((y::DOUBLE - 10) / 21)::BIGINT + second.n AS second,
        floor_div(ts - number('ws_ms'), 2 * number('ws_ms') + 1) + third.n AS third
    FROM left_events, range(2) first(n), range(2) second(n), range(2) third(n)
), rights AS (
    SELECT ts AS right_ts, a, b, c, d,
        floor_div(a::BIGINT, 21) AS first,
        floor(b::DOUBLE / 21)::BIGINT AS second,
        floor_div(ts, 2 * number('ws_ms') + 1) AS third
    FROM right_events
)
SELECT greatest(left_ts, right_ts) + 1 AS ts, x, y, a, b, c, d
FROM lefts JOIN rights USING (first, second, third)
WHERE abs(x::BIGINT - a::BIGINT) <= 10
    AND abs(y::DOUBLE - b::DOUBLE) <= 10
    AND abs(left_ts - right_ts) <= number('ws_ms')
ORDER BY ts
