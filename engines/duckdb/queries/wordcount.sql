-- Counts the words of each tweet (distinct or all) per pane, then combines panes into windows.
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
