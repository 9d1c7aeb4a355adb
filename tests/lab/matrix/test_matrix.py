"""Reading a matrix and expanding it into cells."""

import os
from pathlib import Path

import pytest

from streamlab.engines.fake.adapter import FakeEngine
from streamlab.engines.protocol import Variant
from streamlab.lab.errors import MatrixError
from streamlab.lab.matrix.cells import Trial, describe, expand, interleave
from streamlab.lab.matrix.matrix import parse_matrix, read_matrix
from streamlab.lab.runner.real_data import REAL_INPUTS, as_tables
from streamlab.workloads.model import DGSProgram

ROOT = Path(__file__).parents[3]

SMALL = """
[run]
repetitions = 2
[[workload]]
name = "event_window"
[[workload]]
name = "page_view_join"
params = { pages = 4 }
[[engine]]
name = "reference"
workloads = ["event_*"]
repetitions = 1
[[engine]]
name = "fake"
variants = ["correct", "lose"]
workers = [1, 2]
timeout_s = 5
"""


def cells(text, only=()):
    return expand(parse_matrix(text, "m.toml"), only)


def test_matrix_expands_to_workload_engine_variant_and_workers():
    assert [cell.id for cell in cells(SMALL)] == [
        "event_window/reference/sequential/w1",
        "event_window/fake/correct/w1",
        "event_window/fake/correct/w2",
        "event_window/fake/lose/w1",
        "event_window/fake/lose/w2",
        "page_view_join/fake/correct/w1",
        "page_view_join/fake/correct/w2",
        "page_view_join/fake/lose/w1",
        "page_view_join/fake/lose/w2",
    ]


@pytest.mark.parametrize(
    ("cores", "workers"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (16, [1, 2, 4, 8, 16])]
)
def test_workers_double_up_to_the_cores_of_the_machine(monkeypatch, cores, workers):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    found = cells(
        '[[workload]]\nname = "event_window"\n[[engine]]\nname = "fake"\nworkers = "doubling"'
    )
    assert [cell.workers for cell in found] == workers


def test_variant_without_batches_gets_one_cell_whatever_the_batch_list_says():
    found = cells(
        '[[workload]]\nname = "event_window"\n[[engine]]\nname = "fake"\nbatch = [1, 64, 4096]'
    )
    assert [(cell.id, cell.batch) for cell in found] == [("event_window/fake/correct/w1", None)]


def test_variant_with_batches_gets_a_cell_for_each():
    found = cells(
        '[[workload]]\nname = "event_window"\n[[engine]]\nname = "multicore"\nbatch = [1, 64]'
    )
    assert [(cell.id, cell.batch) for cell in found] == [
        ("event_window/multicore/dgs/w1/b1", 1),
        ("event_window/multicore/dgs/w1/b64", 64),
    ]


def test_default_variant_is_the_engines_first_that_runs_the_workloads_model():
    found = cells(
        '[[workload]]\nname = "event_window"\n[[workload]]\nname = "wordcount"\n'
        '[[workload]]\nname = "scale_join"\n'
        '[[engine]]\nname = "multicore"\n[[engine]]\nname = "spark"\n[[engine]]\nname = "fake"\n'
    )
    assert [cell.id for cell in found] == [
        "event_window/multicore/dgs/w1/b4096",
        "event_window/spark/streaming/w1",
        "event_window/fake/correct/w1",
        "wordcount/multicore/vsn/w1/b4096",
        "wordcount/spark/streaming/w1",
        "wordcount/fake/correct/w1",
        "scale_join/multicore/vsn/w1/b4096",
        "scale_join/spark/streaming/w1",
        "scale_join/fake/correct/w1",
    ]


def test_default_variant_of_a_workload_that_nothing_is_written_for_runs_any_program():
    found = cells('[[workload]]\nname = "parametric"\n[[engine]]\nname = "spark"\n')
    assert [cell.id for cell in found] == ["parametric/spark/generic-streaming/w1"]


def test_engine_without_a_variant_for_a_model_gets_its_first_and_says_itself_why_not(monkeypatch):
    class Programs(FakeEngine):
        def variants(self):
            return (
                Variant(name="lose", summary="", models=()),
                Variant(name="correct", summary="", models=(DGSProgram,)),
            )

    monkeypatch.setattr("streamlab.lab.matrix.cells.find_engine", lambda name: Programs())
    both = '[[workload]]\nname = "event_window"\n[[workload]]\nname = "wordcount"\n'
    assert [cell.variant for cell in cells(both + E)] == ["correct", "lose"]


def test_requested_variants_are_taken_for_any_workload():
    text = '[[workload]]\nname = "wordcount"\n[[engine]]\nname = "multicore"\n'
    (cell,) = cells(text + 'variants = ["dgs"]\n')
    assert cell.variant == "dgs"


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (
            'name = "multicore"\noptions = { pinn = true }',
            "variant dgs of multicore has no option 'pinn'",
        ),
        ('name = "multicore"\noptions = { pin = 1 }', "option pin is 1; it must be true or false"),
        (
            'name = "multicore"\noptions = { adapt_ms = 0 }',
            "option adapt_ms is 0; it must be a whole",
        ),
        ('name = "reference"\noptions = { pin = true }', "has no options, got pin"),
        (
            'name = "spark"\noptions = { forms = "x" }',
            "spark has no option 'forms'; did you mean form",
        ),
        (
            'name = "spark"\noptions = { form = "x" }',
            "form is 'x'; it must be one of blocks, partials",
        ),
        (
            'name = "spark"\noptions = { file_ms = true }',
            "file_ms is True; it must be a whole number of at least 1",
        ),
        ('name = "fake"\noptions = { noise = -1 }', "option noise is -1"),
    ],
)
def test_options_that_no_run_could_take_are_refused_before_data_is_made(table, reason):
    first = '[[engine]]\nname = "reference"\n'
    with pytest.raises(MatrixError) as caught:
        cells(f'[[workload]]\nname = "event_window"\n{first}[[engine]]\n{table}\n')
    assert str(caught.value).startswith("m.toml: [[engine]] 2, key options: ")
    assert reason in str(caught.value)


def test_options_are_judged_by_the_variants_that_the_table_runs():
    table = '[[engine]]\nname = "multicore"\noptions = { tuple_buffer = "scalegate" }\n'
    (cell,) = cells('[[workload]]\nname = "wordcount"\n' + table)
    assert cell.options == {"tuple_buffer": "scalegate"}
    with pytest.raises(MatrixError, match="dgs of multicore has no option 'tuple_buffer'"):
        cells('[[workload]]\nname = "event_window"\n' + table)


def test_engine_table_overrides_the_run_table():
    by_id = {cell.id: cell for cell in cells(SMALL)}
    assert by_id["event_window/reference/sequential/w1"].repetitions == 1
    assert by_id["event_window/reference/sequential/w1"].timeout_s == 120
    assert by_id["event_window/fake/lose/w2"].repetitions == 2
    assert by_id["event_window/fake/lose/w2"].timeout_s == 5


def test_only_keeps_the_cells_that_match_any_pattern():
    found = cells(SMALL, ("*/reference/*", "page_view_join/fake/lose/w?"))
    assert [cell.id for cell in found] == [
        "event_window/reference/sequential/w1",
        "page_view_join/fake/lose/w1",
        "page_view_join/fake/lose/w2",
    ]


def test_only_that_matches_nothing_is_an_error():
    with pytest.raises(MatrixError, match=r"--only '\*spark\*' matches no cell"):
        cells(SMALL, ("*spark*",))


def test_trials_are_interleaved_with_every_second_repetition_backwards():
    order = interleave(cells(SMALL, ("event_window/*/w1",)))
    assert [(t.cell.variant, t.repetition, t.order_index) for t in order] == [
        ("sequential", 1, 0),
        ("correct", 1, 1),
        ("lose", 1, 2),
        ("lose", 2, 3),
        ("correct", 2, 4),
    ]


def test_engines_that_are_first_run_workload_by_workload_before_all_others():
    text = SMALL.replace("[run]", '[run]\nfirst = ["fake"]')
    order = interleave(cells(text, ("*/w1",)))
    assert [(t.cell.entry.name, t.cell.engine, t.repetition) for t in order] == [
        *(("event_window", "fake", n) for n in (1, 1, 2, 2)),
        *(("page_view_join", "fake", n) for n in (1, 1, 2, 2)),
        ("event_window", "reference", 1),
    ]
    assert [t.order_index for t in order] == list(range(9))


def test_an_engine_that_is_first_must_be_in_the_matrix():
    with pytest.raises(
        MatrixError, match=r"\[run\], key first has 'spark'; expected engines of the matrix: refer"
    ):
        cells(SMALL.replace("[run]", '[run]\nfirst = ["fake", "spark"]'))


@pytest.mark.parametrize(
    ("pattern", "inputs"),
    [
        ("page_view_join", [""]),
        ("page_*", ["", "@3f2a9c00"]),
        ("page_view_join@3f2a9c00", ["@3f2a9c00"]),
        ("*@3f*", ["@3f2a9c00"]),
    ],
)
def test_patterns_of_engines_tell_inputs_of_one_workload_apart(pattern: str, inputs: list[str]):
    found = cells(
        '[[workload]]\nname = "page_view_join"\n'
        '[[workload]]\nname = "page_view_join"\ndataset = "3f2a9c0011"\n'
        '[[workload]]\nname = "event_window"\n'
        f'[[engine]]\nname = "reference"\nworkloads = ["{pattern}"]'
    )
    expected = [f"page_view_join{label}/reference/sequential/w1" for label in inputs]
    assert [cell.id for cell in found] == expected


def test_an_engine_takes_a_labelled_dataset_by_the_name_of_its_workload():
    (cell,) = cells(
        '[[workload]]\nname = "page_view_join"\ndataset = "3f2a9c0011"\n'
        '[[engine]]\nname = "reference"\nworkloads = ["page_view_join"]'
    )
    assert cell.id == "page_view_join@3f2a9c00/reference/sequential/w1"


W = '[[workload]]\nname = "event_window"\n'
E = '[[engine]]\nname = "fake"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nname = x", r"m\.toml: not valid TOML: .*line 2"),
        (E, r"m\.toml: top level, key workload is missing; expected \[\[workload\]\] tables"),
        (W, "key engine is missing"),
        (W + E + "[extra]\n", "top level, key extra .* is unknown; expected one of run, workload"),
        (W + E + "[run]\nreps = 3", r"\[run\], key reps \(= 3\) is unknown; expected one of name"),
        (W + E + "workers = [0]", r"\[\[engine\]\] 1, key workers is \[0\]; expected a list of"),
        (W + E + "workers = [1, 1]", r"key workers is \[1, 1\]; expected .* different"),
        (W + E + 'batch = ["x"]', "key batch is"),
        (W + E + f"batch = {2**63}", r"\[\[engine\]\] 1, key batch is 92+.*, below 2\^63"),
        (W + E + f"options.seed = {2**63}", r"key options.seed is 92+.* whole number below 2\^63"),
        (W + E + "options.seed = [{ x = nan }]", "key options.seed.x is nan; expected a finite"),
        (W + E + f"repetitions = {10**18}", "repetitions is 10+; expected .* at most 10000"),
        (
            W + E + "repetitions = 9999\nworkers = " + str(list(range(1, 200))),
            "199 cells make 1,98",
        ),
        (W + f"events = {2**63}\n" + E, r"1, key events is 92\d+; expected .*, below 2\^63"),
        (W + E + f"x = 1{'0' * 5000}", r"m\.toml: not valid TOML: Exceeds the limit"),
        (W + E + "x = " + "[" * 5000, r"m\.toml: not valid TOML: nested too deeply"),
        (W + E + "timeout_s = -1", "key timeout_s is -1; expected a finite number above 0"),
        (W + E + "[run]\ntimeout_s = nan", r"\[run\], key timeout_s is nan; expected a finite"),
        (
            W + E + 'variants = ["fast"]',
            r"key variants has 'fast', but engine fake has no such variant; `lab list engines`",
        ),
        (W + E + 'workloads = ["wc*"]', r"key workloads has 'wc\*', which matches none of event_"),
        (W + 'dataset = "ab12"\nevents = 3\n' + E, "key events cannot be combined with dataset"),
        (
            W + 'events = "many"\n' + E,
            r"\[\[workload\]\] 1, key events is 'many'; expected a whole",
        ),
        (W + f'label = "{"x" * 65}"\n' + E, "1, key label is 'x+...x+'; expected .* 64 bytes at"),
        (W + E + f'label = "x{"é" * 32}"', "1, key label is 'xé+'; expected .* 64 bytes at most"),
        (W + 'dataset = "../../etc"\n' + E, "key dataset is '../../etc'; expected the beginning"),
        (W + 'label = "a/b"\n' + E, "key label is 'a/b'; expected letters, digits"),
        (
            W + W + E,
            r"2 \[\[workload\]\] tables are called event_window; give each a different label",
        ),
        (W + E + '[run]\nenergy = "sun"', r"\[run\], key energy is 'sun'; expected one of auto"),
        (W + E + "[run]\nidle_s = -1", "key idle_s is -1; expected a finite number of at least 0"),
        (
            W + E + f"[run]\nseed = {2**63}",
            r"\[run\], key seed is 9223372036854775808; expected a whole number from 0 to 92",
        ),
        (W + E + '[run]\nisolate = "vm"', "key isolate is 'vm'; expected one of process"),
        (
            W + E + '[run]\ncontainer = { memory = "2g" }',
            r"key container is set with isolate = 'process'; expected isolate = \"container\"",
        ),
        (
            W + E + '[run]\nisolate = "container"\ncontainer = { memory = "lots" }',
            r"\[run\] container, memory is 'lots'; expected a number with k, m or g",
        ),
        (
            W + E + '[load]\nrate_eps = 5\nengines = ["spark"]',
            r"m\.toml: \[load\], key engines has 'spark', which matches none of fake, fake/cor",
        ),
        (
            W + E + "[[load]]\nrate_eps = 5\n[[load]]\nrate_eps = 6\nengines = ['spark']",
            r"m\.toml: \[\[load\]\] 2, key engines has 'spark'",
        ),
        (
            W + E + "[[load]]\nrate_eps = 5\n[[load]]\nrate_eps = [5, 6]",
            r"two cells are called .*/constant-5; .* \[\[load\]\] tables a label",
        ),
        (W + E + E, "two cells are called event_window/fake/correct/w1; .* a label"),
    ],
)
def test_bad_matrix_is_refused_with_place_value_and_remedy(text, message):
    with pytest.raises(MatrixError, match=message):
        cells(text)


def test_long_labels_together_still_make_names_that_a_disk_takes(tmp_path):
    label = "x" * 64
    (one, other) = cells(
        W + f'label = "{label}"\n' + E + f'label = "{label}"\nworkers = [1, {2**62}]\n'
        f'[load]\nrate_eps = 1\nlabel = "{label}"'
    )
    for cell in (one, other):
        name = Trial(
            cell=cell, repetition=1, order_index=0, purpose="confirm", probe=99, vote=9
        ).name
        (tmp_path / f"{name}.reconfigurations.parquet.partial").touch()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("source", "name"),
    [("a/My matrix 1.toml", "My-matrix-1"), ("/ü.toml", "matrix"), ("-.x", "matrix")],
)
def test_run_without_a_name_is_called_after_its_file(source, name):
    assert parse_matrix(W + E, source).name == name


def test_byte_order_mark_and_windows_lines_are_read(tmp_path):
    path = tmp_path / "m.toml"
    path.write_bytes(b"\xef\xbb\xbf" + (W + E).replace("\n", "\r\n").encode())
    assert [cell.id for cell in expand(read_matrix(path))] == ["event_window/fake/correct/w1"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, ": cannot read the matrix: No such file or directory$"),
        (lambda path: path.mkdir(), ": cannot read the matrix: Is a directory$"),
        (lambda path: path.write_bytes(b"\xff"), "cannot read the matrix: it is not UTF-8 text"),
    ],
)
def test_file_that_is_no_matrix_is_reported_once(tmp_path, make, message):
    path = tmp_path / "m.toml"
    make(path)
    with pytest.raises(
        MatrixError, match=f"^{path}{message}" if message.startswith(":") else message
    ):
        read_matrix(path)


LOADS = """
[[load]]
mode = "catch-up"
[[load]]
arrival = "poisson"
rate_eps = [1_000, 1e6]
window_s = 5
objective = "p99 <= 10ms"
[[load]]
search = "sustainable"
label = "best"
engines = ["fake/correct"]
votes = 5
"""


def test_every_load_is_a_cell_whose_id_ends_with_its_label():
    found = cells(W + E + 'label = "x"\n' + LOADS)
    assert [cell.id for cell in found] == [
        "event_window/fake/correct/w1/x",
        "event_window/fake/correct/w1/x/poisson-1k",
        "event_window/fake/correct/w1/x/poisson-1M",
        "event_window/fake/correct/w1/x/best",
    ]
    catch_up, slow, fast, best = found
    assert catch_up.load is None and catch_up.search is None
    assert (slow.load.rate_eps, fast.load.rate_eps) == (1_000, 1_000_000)
    assert (slow.load.arrival, slow.load.window_s) == ("poisson", 5)
    assert (best.load.rate_eps, best.search.votes, best.load_label) == (None, 5, "best")


def test_description_of_a_cell_has_its_load_and_search_so_that_resume_sees_a_change():
    slow, best = cells(W + E + LOADS, ("*poisson-1k", "*best"))
    assert describe(slow)["load"]["objective"] == "p99 <= 10ms"
    assert describe(slow)["search"] is None
    assert describe(best)["search"]["votes"] == 5


def test_variant_that_takes_no_load_is_refused_with_the_reason(monkeypatch):
    class Batch(FakeEngine):
        def variants(self):
            return (Variant(name="correct", summary="takes what is there"),)

    monkeypatch.setattr("streamlab.lab.matrix.cells.find_engine", lambda name: Batch())
    repeated = "[run]\nrepetitions = 3\n" + W + E + LOADS
    catch_up, *offered = cells(repeated)
    assert catch_up.refusal is None and catch_up.repetitions == 3
    for cell in offered:
        assert "fake/correct cannot be driven at an offered rate" in cell.refusal
        assert cell.repetitions == 1


def test_largest_seed_of_the_results_is_taken():
    matrix = parse_matrix(f"[run]\nseed = {2**63 - 1}\n" + W + E, "m.toml")
    assert matrix.workloads[0].seed == 2**63 - 1


def test_settings_of_a_run_are_read():
    text = (
        '[run]\nenergy = "none"\nidle_s = 60\nisolate = "container"\n'
        'container = { memory = "2g", cpus = "0-1" }\n'
    )
    settings = parse_matrix(text + W + E, "m.toml").settings
    assert (settings.energy, settings.idle_s) == ("none", 60.0)
    assert (settings.isolation.kind, settings.isolation.memory) == ("container", "2g")
    assert settings.isolation.image == "stream-lab"


def test_vote_of_a_search_has_a_name_and_a_load_of_its_own():
    (cell,) = cells(W + E + LOADS, ("*best",))
    votes = [
        Trial(
            cell=cell,
            repetition=number,
            order_index=0,
            purpose="bisect",
            probe=3,
            vote=number,
            rate_eps=5e3,
        )
        for number in (1, 2)
    ]
    assert [vote.name for vote in votes] == [
        "event_window__fake__correct__w1__best-p3-bisect-v1",
        "event_window__fake__correct__w1__best-p3-bisect-v2",
    ]
    assert votes[0].load.rate_eps == 5e3
    assert votes[0].load.objective is None


def test_matrix_of_the_documentation_is_one():
    text = (ROOT / "docs" / "running.md").read_text()
    matrix = parse_matrix(text.split("```toml\n")[1].split("```")[0], "running.md")
    ids = [cell.id for cell in expand(matrix)]
    assert "event_window/multicore/dgs/w2/b4096/pinned/poisson-100k" in ids
    assert "event_window/multicore/dgs/w2/b4096/pinned/sustainable" in ids


def test_demo_runs_each_engine_with_comparable_ones_and_with_real_input(small_dataset):
    text = (ROOT / "lab" / "demo.toml").read_text()
    for known in REAL_INPUTS:
        text += as_tables(known, small_dataset(known.workload))
    ids = [cell.id for cell in cells(text)]
    for name in ("event_window", "page_view_join", "fraud_detection"):
        multicore = [f"multicore/dgs/w{w}/b{batch}" for w in (1, 2) for batch in (1, 4096)]
        lines = ["dataframe/numpy/w1", "spark/cached/w2"]
        for rest in (*multicore, *lines, "spark/streaming/w2", "reference/sequential/w1"):
            assert f"{name}/{rest}" in ids
    slow = {trial.cell.engine for trial in interleave(cells(text))[-6:]}
    assert slow == {"spark"}
    for name in ("page_view_join@nasa", "keyed_counter@wikipedia"):
        assert [i.split("/")[1] for i in ids if i.startswith(name)] == ["multicore"] * 2 + [
            "reference"
        ]
