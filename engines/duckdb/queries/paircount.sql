-- Counts the pairs of nearby words of each tweet (distinct or all) per pane, then combines panes into windows.
WITH tweets AS (
    SELECT ts, words, CASE number('distance') WHEN 0 THEN len(words) ELSE number('distance') END AS farthest
    FROM tweet_events
), pairs AS (
    SELECT ts, unnest(keys_of(flatten(list_transform(
        range(1, len(words)),
        lambda i: list_transform(
            range(i + 1, least(i + farthest, len(words)) + 1),
            lambda j: words[i]::BIGINT * 4294967296 + words[j]
        )
    )))) AS pair
    FROM tweets
), panes AS (
    SELECT pane_of(ts) AS pane, pair, count(*) AS count FROM pairs GROUP BY ALL
), windows AS (
    SELECT unnest(rights_of(pane)) AS ts, pair, count FROM panes
)
SELECT ts, pair, sum(count)::BIGINT AS count
FROM windows
WHERE ts <= (SELECT max(ts) FROM tweet_events)
GROUP BY ts, pair
ORDER BY ts, pair
