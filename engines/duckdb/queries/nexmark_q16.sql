-- The statistics of each channel.
SELECT * EXCLUDE (src, row) FROM statistics(true) ORDER BY ts, src, row
