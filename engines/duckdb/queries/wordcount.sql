-- The words of each tweet, different or all, counted by pane and word, then panes put together to windows.
WITH panes AS (
    SELECT pane_of(ts) AS pane, word, count(*) AS count
    FROM (SELECT ts, unnest(keys_of(words)) AS word FROM tweet_events)
    GROUP BY ALL
), windows AS (
    SELECT unnest(rights_of(pane)) AS ts, word, count FROM panes
)
SELECT ts, word, sum(count)::BIGINT AS count
FROM windows
WHERE ts <= (SELECT max(ts) FROM tweet_events)
GROUP BY ts, word
ORDER BY ts, word
