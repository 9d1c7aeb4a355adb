"""An engine that somebody installed and that cannot be loaded is told; others are listed."""

from pathlib import Path

import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.registry import engine, names
from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call

BROKEN = {
    "syntax": ("def", "SyntaxError"),
    "module": ("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
    "raises": ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
    "exits": ("raise SystemExit('bye')", "SystemExit: bye"),
    "lacks": ("", "AttributeError"),
    "constructor": ("class Made:\n    def __init__(self): 1 / 0", "ZeroDivisionError"),
    "no_class": ("Made = 5", "TypeError: 'int' object is not callable"),
    "no_engine": (
        "class Made:\n    def version(self): return '1'",
        "is not an engine: it lacks variants, unsupported",
    ),
    "version": (
        "from streamlab.engines.fake.adapter import FakeEngine\n"
        "class Made(FakeEngine):\n    def version(self): raise OSError('no binary')",
        "OSError: no binary",
    ),
    "variants": (
        "from streamlab.engines.fake.adapter import FakeEngine\n"
        "class Made(FakeEngine):\n    def variants(self): return ('fast',)",
        "TypeError: variants() is ('fast',)",
    ),
}


@pytest.fixture(params=BROKEN)
def broken(request, tmp_path: Path, monkeypatch) -> tuple[str, str]:
    """An installed engine that cannot be loaded: its name, and why."""
    code, reason = BROKEN[request.param]
    name, module = f"broken-{request.param}", f"made_by_somebody_{request.param}"
    (tmp_path / f"{module}.py").write_text(f"{code}\n")
    installed = tmp_path / f"{module}-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(f"[lab.engines]\n{name} = {module}:Made\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name, reason


def test_a_broken_engine_is_reported_with_the_reason_and_others_are_listed(capsys, broken):
    name, reason = broken
    assert name in names()
    assert call(["list", "engines"]) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith(name)]
    assert "not usable" in line and reason in line
    listed = {line.split()[0] for line in lines if not line.startswith(" ")}
    assert {"fake", "multicore", "reference", "spark", name} <= listed


def test_a_run_with_it_ends_with_the_reason(capsys, broken, tmp_path: Path):
    name, reason = broken
    matrix = tmp_path / "m.toml"
    matrix.write_text(f'[[workload]]\nname = "event_window"\n[[engine]]\nname = "{name}"\n')
    assert call(["run", str(matrix), "--dry-run"]) == EXIT_USER_ERROR
    printed = capsys.readouterr()
    assert f"engine '{name}'" in printed.err and reason in printed.err
    assert "Traceback" not in printed.err


def test_an_engine_that_is_not_installed_is_an_error_that_names_the_others():
    with pytest.raises(EngineError, match=r"no engine 'none'; `lab list engines` shows all"):
        engine("none")
