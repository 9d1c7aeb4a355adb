CREATE TEMPORARY FUNCTION millis AS 'streamlab.Millis';
CREATE TEMPORARY VIEW events AS
SELECT window_start, window_end, `type`, person, name
FROM TABLE(TUMBLE(TABLE row_events, DESCRIPTOR(time_), {size}));
CREATE TEMPORARY VIEW sellers AS
SELECT window_start, window_end, person
FROM events
WHERE `type` = 1
GROUP BY window_start, window_end, person;
SELECT millis(p.window_end) AS ts, p.person, p.name
FROM (SELECT * FROM events WHERE `type` = 0) AS p JOIN sellers AS s
ON p.window_start = s.window_start AND p.window_end = s.window_end AND p.person = s.person
