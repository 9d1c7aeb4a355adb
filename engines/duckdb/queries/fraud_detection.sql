-- Assigns transactions to the next rule, derives models from the sums between rules, and filters by the current model.
WITH rules AS (
    SELECT ts, src, row, value, row_number() OVER (ORDER BY ts, src, row) AS number FROM rule_events
), cuts AS (
    SELECT s.src, r.ts - (r.src < s.src)::BIGINT AS until, min(r.number) AS number
    FROM rules r CROSS JOIN transaction_streams s
    GROUP BY ALL
), placed AS MATERIALIZED (
    SELECT t.ts, t.src, t.row, t.value, coalesce(c.number, (SELECT count(*) + 1 FROM rules)) AS number
    FROM transaction_events t ASOF LEFT JOIN cuts c ON t.src = c.src AND t.ts <= c.until
), sums AS (
    SELECT number, sum(value) AS sum FROM placed GROUP BY number
), aggregates AS (
    SELECT ts, src, row, r.number, r.value, coalesce(sum, 0)::BIGINT AS sum
    FROM rules r LEFT JOIN sums USING (number)
), models AS (
    SELECT 1 AS number, 0::BIGINT AS model
    UNION ALL
    SELECT number + 1, floor_mod(sum + value, 1000) FROM aggregates
)
SELECT ts, kind, value FROM (
    SELECT ts, src, row, 1 AS kind, sum AS value FROM aggregates
    UNION ALL
    SELECT ts, src, row, 0 AS kind, value
    FROM placed JOIN models USING (number)
    WHERE floor_mod(value, 1000) = model
)
ORDER BY ts, src, row
