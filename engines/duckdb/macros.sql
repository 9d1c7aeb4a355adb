-- Defines macros that several queries use. Query parameters are variables of the session.

CREATE MACRO number(name) AS getvariable(name)::BIGINT;

-- Division and remainder that round down, also for negative times and values.
CREATE MACRO floor_mod(a, b) AS ((a % b) + b) % b;
CREATE MACRO floor_div(a, b) AS (a - floor_mod(a, b)) // b;

-- Sliding windows [n WA, n WA + WS) consist of panes: the longest pieces that no window boundary splits.
CREATE MACRO pane_ms() AS gcd(number('wa_ms'), number('ws_ms'));
CREATE MACRO pane_of(ts) AS floor_div(ts, pane_ms());
CREATE MACRO oldest_window(pane) AS
    -floor_div(number('ws_ms') - pane_ms() - pane * pane_ms(), number('wa_ms'));
CREATE MACRO newest_window(pane) AS floor_div(pane * pane_ms(), number('wa_ms'));
-- The right boundaries of the windows that contain a pane.
CREATE MACRO rights_of(pane) AS list_transform(
    range(oldest_window(pane), newest_window(pane) + 1),
    lambda n: n * number('wa_ms') + number('ws_ms')
);

-- The keys of a tweet: a set, or a bag.
CREATE MACRO keys_of(keys) AS CASE getvariable('counting') WHEN 'bag' THEN keys ELSE list_distinct(keys) END;

-- The bin of a value: non-decreasing, about 5 % wide, at most 400 bins on either side of 0.
CREATE MACRO bin_of(value) AS
    (sign(value) * least(floor(ln(1 + abs(value) * 1e6) / 0.05), 400))::BIGINT;
