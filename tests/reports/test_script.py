"""The effects of the page's script, in a real browser."""

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamlab.reports.page import write_report
from streamlab.results.seal import seal_files
from tests.reports.chromium import NEEDS_CHROMIUM, ask, browse

pytestmark = NEEDS_CHROMIUM

START = """
const all = selector => [...document.querySelectorAll(selector)];
const cells = () => all('#results tr[data-cell]').filter(row => row.checkVisibility())
  .map(row => row.dataset.cell);
const heading = name => all('#results thead button').find(b => b.textContent.trim() === name);
const type = words => {
  const box = document.querySelector('#results input[type=search]');
  box.value = words;
  box.dispatchEvent(new Event('input', {bubbles: true}));
  return document.querySelector('#results output').textContent;
};
"""


def test_the_script_runs_under_the_pages_own_policy_and_no_other_does(
    page_of_run, typical, tmp_path
):
    page = page_of_run(typical)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("</body>", "<script>document.title = 'hurt'</script></body>"))
    seen = browse(page, tmp_path / "profile")
    assert 'class="sort"' in seen
    assert "<title>hurt</title>" not in seen


def test_a_heading_sorts_its_column_by_exact_values_and_gives_the_old_order_back(
    page_of_run, trial
):
    rows = [
        trial(variant="slow", eps=9.9e5),
        trial(variant="fast", eps=1.01e9),
        trial(variant="near", eps=1.011e9),
        trial(variant="none", status="crash", reason="it broke"),
        trial("spark", "page_view_join", variant="alone", eps=5e12),
    ]
    page = page_of_run(rows)
    seen = ask(
        page,
        START
        + """
        const states = [cells()];
        const button = heading('Throughput');
        for (let i = 0; i < 3; i += 1) {
          button.click();
          states.push([button.closest('th').ariaSort, ...cells().slice(0, 4)]);
        }
        heading('Engine').click();
        states.push([button.closest('th').ariaSort, ...cells().slice(0, 4)]);
        states.push([button.tagName, button.tabIndex, cells().length]);
        return states;""",
    )
    slow, fast, near, none = (f"event_window/multicore/{v}/w1/b4096" for v in
                              ("slow", "fast", "near", "none"))  # fmt: skip
    before = seen[0]
    assert len(before) == 5
    assert seen[1] == ["descending", near, fast, slow, none]
    assert seen[2] == ["ascending", slow, fast, near, none]
    assert seen[3] == [None, *before[:4]]
    assert seen[4] == [None, fast, near, none, slow]
    assert seen[5] == ["BUTTON", 0, 5]


def test_a_filter_keeps_the_rows_that_have_every_word(page_of_run, typical):
    page = page_of_run(typical)
    seen = ask(
        page,
        START
        + """
        const states = [];
        for (const words of ['spark', 'Spark page_view', 'crash', 'no such', '']) {
          const shown = type(words);
          const groups = all('#results .cells tbody').filter(body => body.checkVisibility());
          states.push([shown, cells(), groups.length]);
        }
        return states;""",
    )
    shown, spark, groups = seen[0]
    assert (shown, groups) == ("12 of 39 rows", 6)
    assert all("/spark/" in cell for cell in spark) and len(spark) == 12
    shown, both, groups = seen[1]
    assert (shown, groups) == ("4 of 39 rows", 2)
    assert all(cell.startswith("page_view_join/spark/") for cell in both)
    assert seen[2][:2] == ["1 of 39 rows", ["event_window/fake/crash/w1"]]
    assert seen[3] == ["0 of 39 rows", [], 0]
    assert seen[4][0] == "" and len(seen[4][1]) == 39


def test_the_clear_button_of_a_filter_shows_all_rows_again(page_of_run, typical):
    seen = ask(
        page_of_run(typical),
        START
        + """
        const clear = document.querySelector('#results .filter button');
        const states = [clear.hidden];
        type('spark');
        states.push(clear.hidden, cells().length);
        clear.click();
        return [...states, clear.hidden, cells().length,
                document.querySelector('#results input[type=search]').value];""",
    )
    assert seen == [True, False, 12, True, 39, ""]


def test_the_address_keeps_order_and_filter(page_of_run, typical, tmp_path):
    page = page_of_run(typical)
    seen = ask(
        page,
        START
        + """
        const states = [];
        type('spark page_view');
        heading('Throughput').click();
        states.push(location.hash, cells());
        document.querySelector('#results .filter button').click();
        states.push(location.hash);
        heading('Throughput').click();
        heading('Throughput').click();
        return [...states, location.hash];""",
    )
    link, rows, sorted_only, nothing = seen
    assert link == "#results.filter=spark+page_view&results.sort=-2"
    assert sorted_only == "#results.sort=-2"
    assert nothing in ("", "#")
    opened = browse(page, tmp_path / "profile", fragment=link.removeprefix("#"))
    visible = re.findall(r'<tr (?![^>]*hidden)[^>]*data-cell="([^"]+)"', opened)
    assert [cell for cell in visible if cell in rows] == rows and len(visible) == len(rows)
    assert 'aria-sort="descending"' in opened


def test_a_link_to_a_row_shows_it_whatever_hides_it(page_of_run, typical):
    seen = ask(
        page_of_run(typical),
        START
        + """
        type('no such');
        document.querySelector('details.every').open = false;
        const row = all('#results tr[data-cell]')[7];
        location.hash = row.id;
        dispatchEvent(new HashChangeEvent('hashchange'));
        return [row.checkVisibility(), cells().length];""",
    )
    assert seen == [True, 39]


def test_a_filter_looks_at_all_columns_and_at_remarks(page_of_run, trial):
    rows = [trial(workers=n, eps=n * 1e8) for n in (1, 2, 3, 4, 5)]
    rows.append(trial(workers=6, eps=9.87e5))
    rows.append(trial(workers=7, status="crash", reason="the pool is empty"))
    seen = ask(
        page_of_run(rows),
        START
        + """
        const found = [];
        for (const words of ['987 k/s', 'pool empty', '4,096', 'multicore crash', '500 987']) {
          type(words);
          found.push(cells().map(name => name.split('/w')[1].split('/')[0]));
        }
        return found;""",
    )
    assert seen == [["6"], ["7"], ["1", "2", "3", "4", "5", "6", "7"], ["7"], []]


def test_a_remark_moves_and_hides_with_its_row(page_of_run, offered):
    late = {"status": "unsustained", "reason": "backlog grows by 900 events/s"}
    rows = [offered(rate_eps=eps, **(late if eps == 3e4 else {})) for eps in
            (1e4, 2e4, 3e4, 4e4, 5e4, 6e4)]  # fmt: skip
    seen = ask(
        page_of_run(rows),
        """
        const rows = () => [...document.querySelectorAll('#offered tbody tr')].slice(1)
          .filter(row => row.checkVisibility())
          .map(row => row.dataset.cell ?? row.className);
        const offered = [...document.querySelectorAll('#offered thead button')]
          .find(button => button.textContent === 'Offered');
        offered.click();
        const sorted = rows();
        const box = document.querySelector('#offered input');
        box.value = 'poisson-40000';
        box.dispatchEvent(new Event('input'));
        return [sorted, rows()];""",
    )
    assert [name.rpartition("-")[2] for name in seen[0]] == [
        "60000", "50000", "40000", "30000", "why", "20000", "10000",
    ]  # fmt: skip
    assert [name.rpartition("-")[2] for name in seen[1]] == ["40000"]


def test_hostile_text_stays_text_whatever_the_script_does_with_it(page_of_run, trial):
    evil = (
        '<img src=x onerror="document.title=1">"\'</td></script><script>document.title=2</script>'
    )
    rows = [trial(variant=f"{evil}{n}", workload=f"w{n % 2}{evil}", eps=n * 1e6, reason=evil)
            for n in range(1, 9)]  # fmt: skip
    rows.append(trial(status="crash", reason=evil))
    seen = ask(
        page_of_run(rows),
        START
        + """
        for (const button of all('button.sort')) button.click();
        type('<img');
        for (const svg of all('figure > svg')) {
          svg.focus();
          for (const key of ['End', 'ArrowLeft'])
            svg.dispatchEvent(new KeyboardEvent('keydown', {key}));
        }
        return [document.title, all('img').length, all('script').length, cells().length];""",
    )
    assert seen == ["Stream lab: sample", 0, 2, 9]  # its reason has the words, too


def test_folded_parts_are_open_on_paper_and_folded_again_on_screen(page_of_run, typical):
    seen = ask(
        page_of_run(typical),
        """
        const open = () => document.querySelectorAll('details[open]').length;
        const states = [open(), document.querySelectorAll('details').length];
        dispatchEvent(new Event('beforeprint'));
        states.push(open());
        dispatchEvent(new Event('afterprint'));
        return [...states, open()];""",
    )
    before, every, printed, after = seen
    assert before < every / 2
    assert (printed, after) == (every, before)


@pytest.mark.parametrize("width", [360, 1280])
def test_a_table_that_is_wider_than_its_box_says_so(page_of_run, trial, width):
    counters = '{"a_long_name_of_a_counter_of_it": 123456789}'
    rows = [trial("layers", variant=f"v{n}", counters=counters) for n in range(3)]
    page = page_of_run(rows)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<details>", "<details open>"), encoding="utf-8")
    seen = ask(
        page,
        """
        return [...document.querySelectorAll('.scroll')].map(box => [
          box.scrollWidth > box.clientWidth + 1, box.classList.contains('more'),
          box.tabIndex, box.getAttribute('role')]);""",
        width,
    )
    assert all((tab, role) == (0, "region") for _, _, tab, role in seen)
    assert all(wide == states for wide, states, *_ in seen)
    assert any(wide for wide, *_ in seen) == (width == 360)


CHART = """
const svg = document.querySelector('%s figure > svg');
const tip = document.querySelector('.tip');
const press = key => svg.dispatchEvent(new KeyboardEvent('keydown', {key}));
const point = (type, x, y, pointerType) => svg.dispatchEvent(
  new PointerEvent(type, {clientX: x, clientY: y, bubbles: true, pointerType}));
const centre = element => {
  const box = element.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
};
"""


def test_a_chart_tells_exact_values_to_pointer_touch_and_keyboard(page_of_run, trial):
    rows = [trial(eps=412_345_678.0), trial(workers=2, eps=823_456_789.0), trial(workers=4)]
    seen = ask(
        page_of_run(rows),
        CHART % "#throughput"
        + """
        const states = [tip.hidden, svg.tabIndex, svg.querySelectorAll('.spot title').length];
        const spots = [...svg.querySelectorAll('.spot')];
        const moves = [[0, 'pointermove', 'mouse'], [1, 'pointerdown', 'touch']];
        for (const [spot, type, kind] of moves) {
          const [x, y] = centre(spots[spot]);
          point(type, x + 3, y - 3, kind);
          states.push(tip.hidden ? null : tip.textContent);
        }
        point('pointerleave', 0, 0, 'touch');
        states.push(tip.hidden);
        point('pointerleave', 0, 0, 'mouse');
        states.push(tip.hidden);
        for (const key of ['Home', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'Escape']) {
          press(key);
          states.push(tip.hidden ? null : tip.textContent);
        }
        return [...states, tip.getAttribute('role')];""",
    )
    one = "multicore, 1 worker: 412,345,678 events/s (one process)"
    two = "multicore, 2 workers: 823,456,789 events/s (one process)"
    three = "multicore, 4 workers: 200,000,000 events/s (one process)"
    assert seen == [True, 0, 0, one, two, False, True, one, two, three, two, None, "status"]


def test_a_timeline_tells_all_its_lines_at_a_moment(make_run, offered, tmp_path):
    run_dir = make_run([offered(series="series/a.parquet")])
    series = {
        "t_ns": [n * 100_000_000 for n in range(20)],
        "phase": ["window"] * 20,
        "emitted": [100 * (n + 1) for n in range(20)],
        "backlog": [n * 11 for n in range(20)],
    }
    (run_dir / "series").mkdir()
    pq.write_table(pa.table(series), run_dir / "series" / "a.parquet")
    seal_files(run_dir, run_dir / "series" / "a.parquet")
    page = write_report(run_dir)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<details>", "<details open>"), encoding="utf-8")
    seen = ask(
        page,
        CHART % "#timelines"
        + """
        press('Home'); press('ArrowRight'); press('ArrowRight');
        const states = [tip.textContent];
        const box = svg.getBoundingClientRect();
        point('pointermove', box.right - 12, box.top + 40, 'mouse');
        return [...states, tip.textContent];""",
    )
    third, last = (states.split("\n") for states in seen)
    assert third[0] == "0.25 s" and "backlog, events: 22" in third
    assert last[0] == "1.95 s" and "backlog, events: 209" in last
