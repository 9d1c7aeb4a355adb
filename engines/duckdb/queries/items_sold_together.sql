-- Groups runs of lines into tickets, pairs the distinct items of each, and counts pairs by hour.
-- A ticket ends when another ticket takes its place, which is the ticket's number modulo `open_tickets`.
WITH lines AS (
    SELECT ts, ticket, item, ticket % number('open_tickets') AS place,
        row_number() OVER (ORDER BY ts, src, row) AS row
    FROM sale_events
    WHERE (getvariable('stores') IS NULL OR list_contains(getvariable('stores'), store))
        AND (getvariable('categories') IS NULL OR list_contains(getvariable('categories'), category))
), marked AS (
    SELECT *, ticket <> lag(ticket) OVER (PARTITION BY place ORDER BY row) AS begins FROM lines
), numbered AS (
    SELECT *, count(*) FILTER (begins) OVER (PARTITION BY place ORDER BY row) AS run FROM marked
), items AS (
    SELECT place, run, item, min(ts) AS ts, min(row) AS row
    FROM numbered
    GROUP BY place, run, item
    QUALIFY row_number() OVER (PARTITION BY place, run ORDER BY min(row)) <= number('most_items')
), pairs AS MATERIALIZED (
    SELECT a.ts, floor_div(a.ts, number('hour_ms')) AS hour,
        least(a.item, b.item) AS item_1, greatest(a.item, b.item) AS item_2
    FROM items a JOIN items b ON a.place = b.place AND a.run = b.run AND b.row < a.row
), hours AS (
    SELECT hour, lead(min(ts)) OVER (ORDER BY hour) AS ts FROM pairs GROUP BY hour
), counts AS (
    SELECT hour, item_1, item_2, count(*) AS count
    FROM pairs
    GROUP BY ALL
    HAVING count(*) > number('more_than')
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY hour ORDER BY count DESC, item_1, item_2) AS rank
    FROM counts JOIN hours USING (hour)
    WHERE ts IS NOT NULL
)
SELECT ts, hour * number('hour_ms') AS since, rank, item_1, item_2, count
FROM ranked
WHERE rank <= number('top')
ORDER BY hour, rank
