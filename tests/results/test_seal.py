"""Every file of a run is sealed, and no change of one is read as another number."""

import random
import subprocess

import pytest

from streamlab.results.errors import ResultsError
from streamlab.results.seal import (
    SEALS,
    compact,
    move_sealed,
    read_sealed,
    seal_files,
    seal_old_run,
    verify_run,
)
from streamlab.results.store import (
    read_meta,
    read_run,
    read_trials,
    write_table,
)
from tests.results.records import store_meta, store_trial

ROW = {
    "cell": "w/e/v/w1",
    "workload": "w",
    "engine": "e",
    "variant": "v",
    "workers": 1,
    "repetition": 1,
    "status": "ok",
    "order_index": 0,
    "throughput_eps": 123_456.75,
    "series": "series/a-r1.parquet",
}


@pytest.fixture
def run_dir(tmp_path):
    """A run with a file of each kind."""
    store_meta(tmp_path, {"name": "x", "vcs": {"commit": "0" * 40}})
    for name, content in {
        "series/a-r1.parquet": b"PAR1 series",
        "series/a-r1.hlog": b"#[Histogram log format version 1.2]\n",
        "logs/a-r1.log": b"# attempt 1\n",
        "outputs/a.parquet": b"PAR1 outputs",
        "searches/a.json": b"{}\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        seal_files(tmp_path, path)
    store_trial(tmp_path, "a-r1", ROW)
    write_table(tmp_path)
    store_meta(tmp_path, {"name": "x", "vcs": {"commit": "1" * 40}})
    return tmp_path


def files(run_dir):
    return sorted(path for path in run_dir.rglob("*") if path.is_file())


def test_each_of_500_flipped_bits_in_any_kind_of_file_is_noticed(run_dir):
    compact(run_dir)
    verify_run(run_dir)
    draw = random.Random(1)
    for _ in range(500):
        path = draw.choice(files(run_dir))
        whole = path.read_bytes()
        bad = bytearray(whole)
        place, bit = draw.randrange(len(bad)), draw.randrange(8)
        bad[place] ^= 1 << bit
        path.write_bytes(bad)
        with pytest.raises(ResultsError):
            verify_run(run_dir)
            pytest.fail(f"bit {bit} of byte {place} of {path.relative_to(run_dir)}")
        path.write_bytes(whole)
    verify_run(run_dir)


@pytest.mark.parametrize(
    ("name", "read"),
    [("run.json", read_meta), ("trials.parquet", read_run), ("trials/a-r1.json", read_trials)],
)
def test_files_of_commands_are_checked_when_read(run_dir, name, read):
    read(run_dir)
    content = (run_dir / name).read_bytes()
    (run_dir / name).write_bytes(content.replace(b"1", b"2", 1))
    with pytest.raises(ResultsError, match=rf"{name} is damaged: its SHA-256 is .*; (remove|take)"):
        read(run_dir)


def test_sha256sum_verifies_a_run_without_the_lab(run_dir):
    compact(run_dir)
    check = ["sha256sum", "--check", "--strict", SEALS]
    done = subprocess.run(check, cwd=run_dir, capture_output=True, text=True, check=True)
    assert done.stdout.count(": OK") == len(files(run_dir)) - 1  # all but the seals themselves


def test_a_session_that_is_open_leaves_several_seals_and_compact_leaves_one(run_dir):
    assert (run_dir / SEALS).read_text().count("  run.json\n") == 2
    verify_run(run_dir)
    compact(run_dir)
    assert (run_dir / SEALS).read_text().count("  run.json\n") == 1
    verify_run(run_dir)


def test_a_kill_between_a_seal_and_its_file_leaves_the_older_file_readable(run_dir):
    with (run_dir / SEALS).open("ab") as seals:
        seals.write(b"0" * 64 + b"  run.json\n" + b"0" * 64 + b"  trials/b-r1.json\n")
    verify_run(run_dir)
    assert read_meta(run_dir).vcs.commit == "1" * 40


def test_a_seal_that_a_kill_cut_short_is_dropped_by_the_next(run_dir):
    with (run_dir / SEALS).open("ab") as seals:
        seals.write(b"0" * 30)
    verify_run(run_dir)
    store_trial(run_dir, "b-r1", ROW | {"repetition": 2})
    verify_run(run_dir)
    assert set(read_trials(run_dir)) == {"a-r1", "b-r1"}


def test_files_of_an_interrupted_trial_need_no_seal_and_those_of_a_recorded_one_do(run_dir):
    (run_dir / "logs" / "b-r1.log").write_text("# attempt 1\n")
    verify_run(run_dir)
    (run_dir / "series" / "a-r1.reconfigurations.parquet").write_text("made up")
    with pytest.raises(ResultsError, match=r"a-r1\.reconfigurations\.parquet has no line in"):
        verify_run(run_dir)


def test_a_record_that_was_added_by_hand_is_refused(run_dir):
    (run_dir / "trials" / "b-r1.json").write_bytes((run_dir / "trials" / "a-r1.json").read_bytes())
    with pytest.raises(ResultsError, match=r"b-r1\.json has no line in SHA256SUMS"):
        read_trials(run_dir)


@pytest.mark.parametrize("folder", ["outputs", "logs", "series"])
def test_files_removed_to_save_space_do_not_prevent_resuming(run_dir, folder):
    for path in (run_dir / folder).iterdir():
        path.unlink()
    verify_run(run_dir)


def test_the_log_of_an_oracle_that_grows_after_it_was_sealed_is_no_damage(run_dir):
    log = run_dir / "logs" / "oracle-w.log"
    log.write_text("# attempt 1\n")
    seal_files(run_dir, log)
    log.write_text("# attempt 1\n# attempt 2\n")
    verify_run(run_dir)


@pytest.mark.parametrize(
    "name", ["series/a-r1.parquet", "series/a-r1.hlog", "logs/a-r1.log", "outputs/a.parquet"]
)
def test_the_remedy_for_a_damaged_file_is_enough(run_dir, name):
    (run_dir / name).write_bytes(b"damaged")
    with pytest.raises(ResultsError, match="or remove it") as error:
        verify_run(run_dir)
    (run_dir / name).unlink()
    if "trials/a-r1.json" in str(error.value):
        (run_dir / "trials" / "a-r1.json").unlink()
    verify_run(run_dir)


def test_an_answer_is_moved_with_its_seal(run_dir):
    attempt = run_dir / "outputs" / "b.attempt"
    attempt.write_bytes(b"PAR1 b")
    move_sealed(run_dir, attempt, run_dir / "outputs" / "b.parquet")
    verify_run(run_dir)
    assert read_sealed(run_dir, run_dir / "outputs" / "b.parquet") == b"PAR1 b"


def test_a_run_of_an_older_lab_is_read_and_sealed_before_it_is_resumed(run_dir):
    (run_dir / SEALS).unlink()
    assert len(read_run(run_dir).rows) == 1
    verify_run(run_dir)
    seal_old_run(run_dir)
    (run_dir / "logs" / "a-r1.log").write_text("# attempt 2\n")
    with pytest.raises(ResultsError, match=r"a-r1\.log is damaged"):
        verify_run(run_dir)


def test_seals_that_are_damaged_name_the_line(run_dir):
    (run_dir / SEALS).write_bytes(b"not a seal\n")
    with pytest.raises(ResultsError, match="SHA256SUMS is damaged: line 1"):
        read_sealed(run_dir, run_dir / "run.json")
