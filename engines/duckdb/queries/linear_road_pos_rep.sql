-- Selects the position reports.
SELECT ts, type, vid, speed, xway, lane, dir, seg, pos
FROM record_events
WHERE type = 0
ORDER BY ts, src, row
