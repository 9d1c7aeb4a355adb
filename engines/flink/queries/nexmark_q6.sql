{winning_bids}
CREATE TEMPORARY FUNCTION millis AS 'streamlab.Millis';
CREATE TEMPORARY VIEW ordered AS
SELECT *
FROM winners MATCH_RECOGNIZE (
    PARTITION BY seller ORDER BY rowtime, expires, auction
    MEASURES A.expires AS expires, A.auction AS auction, A.price AS price, MATCH_ROWTIME() AS time_
    ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A) DEFINE A AS TRUE
);
CREATE TEMPORARY VIEW averages AS
SELECT seller, expires, auction, time_, CAST(SUM(price) OVER latest AS DOUBLE) / COUNT(*) OVER latest AS average
FROM ordered
WINDOW latest AS (PARTITION BY seller ORDER BY time_ ROWS BETWEEN 9 PRECEDING AND CURRENT ROW);
SELECT millis(window_end) AS ts, seller, average
FROM (
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY window_start, window_end, seller ORDER BY expires DESC, auction DESC
    ) AS number_
    FROM TABLE(TUMBLE(TABLE averages, DESCRIPTOR(time_), {every}))
)
WHERE number_ <= 1
