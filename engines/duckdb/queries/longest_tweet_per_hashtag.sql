-- Computes the maximum per pane and hashtag, then combines panes into windows.
WITH panes AS (
    SELECT pane_of(ts) AS pane, hashtag, greatest(max(chars), 0) AS chars
    FROM (SELECT ts, chars, unnest(hashtags) AS hashtag FROM tweet_events)
    GROUP BY ALL
), windows AS (
    SELECT unnest(rights_of(pane)) AS ts, hashtag, chars FROM panes
)
SELECT ts, hashtag, max(chars) AS chars
FROM windows
WHERE ts <= (SELECT max(ts) FROM tweet_events)
GROUP BY ts, hashtag
ORDER BY ts, hashtag
