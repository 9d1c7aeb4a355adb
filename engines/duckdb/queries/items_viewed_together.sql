-- Finds the sessions that contain the item, and their other items.
CREATE TEMP VIEW partners AS
WITH clicks AS (
    SELECT user, ts, item, row_number() OVER (ORDER BY ts, src, row) AS row
    FROM click_events
    WHERE user <> 0
), marked AS (
    SELECT *, ts - lag(ts) OVER (PARTITION BY user ORDER BY row) > number('gap_ms') AS begins FROM clicks
), numbered AS (
    SELECT *, count(*) FILTER (begins) OVER (PARTITION BY user ORDER BY row) AS session FROM marked
), sessions AS (
    SELECT user, session, lead(min(ts)) OVER (PARTITION BY user ORDER BY session) AS ts
    FROM numbered
    GROUP BY user, session
), viewed AS (
    SELECT user, session, item
    FROM numbered
    GROUP BY user, session, item
    QUALIFY row_number() OVER (PARTITION BY user, session ORDER BY min(row)) <= number('most_items')
), holding AS (
    SELECT user, session FROM viewed WHERE item = number('item')
)
SELECT ts, item AS other
FROM viewed JOIN holding USING (user, session) JOIN sessions USING (user, session)
WHERE item <> number('item') AND ts IS NOT NULL;
