-- Compares each report with the previous report of its vehicle.
SELECT ts, type, vid, speed, xway, lane, dir, seg, pos
FROM record_events
WHERE type = 0
QUALIFY (xway, dir, seg) IS DISTINCT FROM lag((xway, dir, seg)) OVER (
    PARTITION BY vid ORDER BY ts, src, row
)
ORDER BY ts, src, row
