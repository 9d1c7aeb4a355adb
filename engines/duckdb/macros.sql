-- What several queries share. Query parameters are variables of the session.

CREATE MACRO number(name) AS getvariable(name)::BIGINT;

-- Division and remainder that go down, for times and values below zero too.
CREATE MACRO floor_mod(a, b) AS ((a % b) + b) % b;
CREATE MACRO floor_div(a, b) AS (a - floor_mod(a, b)) // b;

-- Sliding windows [n WA, n WA + WS) are put together from panes, the greatest pieces that every window holds whole.
CREATE MACRO pane_ms() AS gcd(number('wa_ms'), number('ws_ms'));
CREATE MACRO pane_of(ts) AS floor_div(ts, pane_ms());
CREATE MACRO oldest_window(pane) AS
    -floor_div(number('ws_ms') - pane_ms() - pane * pane_ms(), number('wa_ms'));
CREATE MACRO newest_window(pane) AS floor_div(pane * pane_ms(), number('wa_ms'));
-- The right boundaries of the windows that hold a pane.
CREATE MACRO rights_of(pane) AS list_transform(
    range(oldest_window(pane), newest_window(pane) + 1),
    lambda n: n * number('wa_ms') + number('ws_ms')
);

-- The keys of a tweet: a set, or a bag.
CREATE MACRO keys_of(keys) AS CASE getvariable('counting') WHEN 'bag' THEN keys ELSE list_distinct(keys) END;

-- A bin of a value by its size, whatever that is: never decreasing, about 5 % wide, at most 400 to either side of 0.
CREATE MACRO bin_of(value) AS
    (sign(value) * least(floor(ln(1 + abs(value) * 1e6) / 0.05), 400))::BIGINT;
