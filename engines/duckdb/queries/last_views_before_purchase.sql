-- Numbers views by user, finds the latest view before each purchase by an as-of join, and joins the last few by number.
CREATE TEMP VIEW partners AS
WITH clicks AS (
    SELECT user, ts, item, sale, category, row_number() OVER (ORDER BY ts, src, row) AS row
    FROM click_events
    WHERE user <> 0
), viewed AS (
    SELECT user, ts, item, row, row_number() OVER (PARTITION BY user ORDER BY row) AS nth
    FROM clicks
    WHERE sale = 0 AND (getvariable('categories') IS NULL OR list_contains(getvariable('categories'), category))
), bought AS (
    SELECT b.user, b.ts, v.nth
    FROM clicks b ASOF JOIN viewed v ON b.user = v.user AND b.row > v.row
    WHERE b.sale <> 0 AND b.item = number('item')
)
SELECT b.ts, v.item AS other
FROM (
    SELECT user, ts, unnest(range(greatest(nth - number('views'), 0) + 1, nth + 1)) AS nth FROM bought
) b JOIN viewed v USING (user, nth)
WHERE b.ts - v.ts <= number('within_ms');
