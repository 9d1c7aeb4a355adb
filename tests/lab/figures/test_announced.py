"""Figures that a package announces are found; one that is broken is told, and others are there."""

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call

MADE = """
from streamlab.figure import Facts, Figure
FIGURES = (Figure(id="{paper}:1", title="t", shows="s", needs=(), stages=(), outcome=None),)
def facts():
    return Facts(())
"""
BROKEN = {
    "raises": ("1 / 0", "cannot be loaded: ZeroDivisionError"),
    "none": ("", "have no FIGURES"),
    "strange": (MADE.format(paper="other"), "have the id 'other:1', which must begin with strange"),
    "factless": (MADE.format(paper="factless").split("def")[0], "have no function facts()"),
    "viper": (MADE.format(paper="viper"), "have the name of a built-in paper"),
}


def announce(folder, monkeypatch, paper, code):
    module = f"figures_of_{paper}"
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[lab.figures]\n{paper} = {module}\n")
    monkeypatch.syspath_prepend(str(folder))


def test_an_announced_figure_is_listed(tmp_path, monkeypatch, capsys):
    announce(tmp_path, monkeypatch, "mine", MADE.format(paper="mine"))
    assert call(["list", "figures"]) == EXIT_OK
    output = capsys.readouterr().out
    assert "mine:1  t; available" in output and "viper:4a" in output


@pytest.mark.parametrize("paper", BROKEN)
def test_a_broken_figure_is_reported_and_the_others_are_listed(
    paper, tmp_path, monkeypatch, capsys
):
    code, why = BROKEN[paper]
    announce(tmp_path, monkeypatch, paper, code)
    assert call(["list", "figures"]) == EXIT_OK
    output = capsys.readouterr().out
    assert f"not usable: figures of '{paper}' (figures_of_{paper}) {why}" in output
    assert "viper:4a" in output and "stretch:6" in output
    assert call(["figure", "nosuch:1"]) == EXIT_USER_ERROR
    assert why in capsys.readouterr().err
