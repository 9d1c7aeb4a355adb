"""The matrix that compares every typed workload's answers on every engine."""

import tomllib
from fnmatch import fnmatchcase

import pytest

from benchmarks.evidence import HERE
from streamlab.lab.figures.datatrace.queries import QUERIES

MATRIX = tomllib.loads((HERE / "verified.toml").read_text(encoding="utf-8"))
"""As it is written: programs that look real ids up need the datasets to be there."""
ENGINES = {
    "typed": {"multicore", "reference", "spark"},
    "handcrafted": {"multicore", "reference"},
}


def engines_of(name: str) -> set[str]:
    """Return the engines on which a workload of the matrix is run."""
    return {
        engine["name"]
        for engine in MATRIX["engine"]
        if any(fnmatchcase(name, pattern) for pattern in engine.get("workloads", ["*"]))
    }


@pytest.mark.parametrize("workload", [*QUERIES.values(), "smart_home_prediction"])
@pytest.mark.parametrize("form", ENGINES)
@pytest.mark.parametrize("source", ["generated", "real"])
def test_every_form_is_compared_on_generated_and_real_input(workload: str, form: str, source: str):
    name = f"{workload}@{source}-{form}"
    (table,) = [w for w in MATRIX["workload"] if f"{w['name']}@{w['label']}" == name]
    assert table["query"]["form"] == form
    assert ("dataset" in table) == (source == "real")
    assert engines_of(name) == ENGINES[form]


@pytest.mark.parametrize("workload", ["outlier_detection", "smart_home"])
@pytest.mark.parametrize("source", ["generated", "real"])
def test_the_case_studies_of_dgs_are_compared_on_three_engines(workload: str, source: str):
    name = f"{workload}@{source}"
    (table,) = [w for w in MATRIX["workload"] if f"{w['name']}@{w['label']}" == name]
    assert ("dataset" in table) == (source == "real")
    assert engines_of(name) == ENGINES["typed"]
