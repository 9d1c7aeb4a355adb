-- The statistics of all channels.
SELECT * EXCLUDE (src, row, channel) FROM statistics(false) ORDER BY ts, src, row
