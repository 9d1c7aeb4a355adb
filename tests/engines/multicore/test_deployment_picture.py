"""`lab plan` of queries and pipelines: what the native core runs by default."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from streamlab.engines.multicore.deployment_picture import deployment_picture
from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.matrix.matrix import DEFAULT_BATCH
from streamlab.workloads.datasets.builder import generate_input
from streamlab.workloads.model import DGSProgram, Query, Window
from streamlab.workloads.model.picture import COLUMNS, pictures_text
from streamlab.workloads.registry import names, workload
from tests.engines.multicore.native_runs import run_native
from tests.workloads.model import naive
from tests.workloads.model.pipelines import ALL_KINDS

COUNTS = Query(
    name="counts", operators=(naive.counting(Window(advance=2, size=5)),), at_end="flush"
)
PLANNED = [name for name in names() if not isinstance(workload(name).program, DGSProgram)]
HERE = "tests.engines.multicore.test_deployment_picture"


def test_a_query_shows_instances_windows_buckets_and_states():
    text = pictures_text([deployment_picture(COUNTS, 3, [2], 64)]).splitlines()
    assert text[:7] == [
        "query counts on multicore/vsn: 3 workers",
        "  input0    2 streams",
        "  counting  x 3        <- input0 (ordered log, by key)",
        "            window multi, size 5, advance 2, 3 open per key",
        "            keys in 1,024 buckets, 341 or 342 per instance",
        # A head of 8 bytes, and 3 windows with key, left boundary, count and total.
        f"            state {8 + 3 * 4 * 8} bytes per key",
        "  answer               <- counting (merged by time)",
    ]
    assert text[-1] == "  The end of the input closes open windows."


def test_a_pipeline_shows_partitions_states_and_where_order_is_restored():
    text = pictures_text([deployment_picture(ALL_KINDS, 2, [1], DEFAULT_BATCH)]).splitlines()
    assert text[:9] == [
        "pipeline small on multicore/ordered: 2 workers, each runs any operator",
        "  pair    1 stream",
        "  twice   x 2       <- pair (units)",
        "  by_key  x 2       <- twice (by key)",
        "          4 partitions by hash",
        "          state 24 bytes per key",  # a head of 16 bytes and the sum
        "  of_all  x 1       <- by_key (in order)",
        "          state 8 bytes",
        "  answer            <- of_all (order of the input)",
    ]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("name", "variant"), [("wordcount", "vsn"), ("declining_categories", "ordered")]
)
def test_the_plan_is_that_of_a_run(name, variant, workers):
    subject = workload(name)
    data = generate_input(subject, subject.params({}), 500, 1)
    measured, _ = run_native(variant, subject.program, data, workers=workers)
    text = pictures_text([deployment_picture(subject.program, workers, [1], DEFAULT_BATCH)])
    if variant == "vsn":
        assert measured.plan == f"{name}: {workers} instances, 1024 buckets of keys"
        assert f"x {workers}" in text and "1,024 buckets" in text
    else:
        count, _, by, how = next(line.split() for line in text.splitlines() if " by hash" in line)
        assert f"trends: partitioned, {count} partitions {by} {how}, homed; " in measured.plan


@pytest.mark.parametrize("name", PLANNED)
def test_the_command_shows_each_program_within_its_columns(name, capsys, tmp_path: Path):
    svg = tmp_path / "plan.svg"
    assert call(["plan", name, "--workers", "16", "--svg", str(svg)]) == EXIT_OK
    shown = capsys.readouterr().out.splitlines()[:-1]
    assert max(map(len, shown)) <= COLUMNS
    assert any("  answer " in line for line in shown) and "16 workers" in "".join(shown)
    ElementTree.fromstring(svg.read_text())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--optimizer", "cost"], "--optimizer is for a DGS program"),
        (
            ["--dataset", "x"],
            "--dataset is for a workload's input, but a program without a workload has no input",
        ),
        (["--streams", "0"], f"a kind of counts: {COUNTS.kinds[0]}"),
    ],
)
def test_an_option_of_another_model_is_refused(options, reason, capsys):
    assert call(["plan", f"{HERE}:COUNTS", "-w", "2"]) == EXIT_OK
    assert call(["plan", f"{HERE}:COUNTS", "-w", "2", *options]) == EXIT_USER_ERROR
    assert reason in " ".join(capsys.readouterr().err.split())


def test_a_join_over_columns_of_several_streams_is_refused_as_in_a_run(capsys):
    assert call(["plan", "scale_join", "-w", "2", "--streams", "left=2"]) != EXIT_OK
    error = " ".join(capsys.readouterr().err.split())
    assert "reads one stream for each of its two inputs, got 2 and 1" in error
