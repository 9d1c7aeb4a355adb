"""Fingerprints: objects of equal fingerprints are equal, so that a stored result can be reused."""

import importlib
import sys
import types
from collections import namedtuple
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from numba import njit

from streamlab.workloads.model.code.fingerprint import UnstableError, code_of, fingerprint
from streamlab.workloads.references import load
from streamlab.workloads.registry import workload
from tests.processes import run_python

SOURCE = """
import math
import numpy as np
import settings

LIMIT = {limit}

def helper(x):
    return x * {factor}

def update(state, event, out):
    state.total += helper(event.value) + LIMIT

def uses_numpy(state, event, out):
    state.total += np.int64(math.sqrt(event.value))

def uses_settings(state, event, out):
    state.total += settings.LIMIT
"""


def functions(limit=1, factor=2):
    namespace = {"__name__": "somewhere"}
    code = SOURCE.replace("import settings\n", "").format(limit=limit, factor=factor)
    exec(compile(code, "somewhere.py", "exec"), namespace)
    namespace["settings"] = types.ModuleType("settings")
    return namespace


def reading(pair):
    return lambda: pair.x


def test_a_fingerprint_tells_what_a_function_reads_and_how_it_is_compiled():
    def makes(**given):
        return lambda name="update": functions(**given)[name]

    swapped = [namedtuple("pair", names)(1, 2) for names in ("x y", "y x")]
    different = [
        makes(),
        makes(limit=9),
        makes(factor=9),
        lambda: makes()("helper"),
        lambda: njit(makes()("helper")),
        lambda: njit(fastmath=True)(makes()("helper")),
        lambda: reading(swapped[0]),
        lambda: reading(swapped[1]),
        lambda: makes()("uses_numpy"),
    ]
    prints = [fingerprint(make()) for make in different]
    assert prints == [fingerprint(make()) for make in different]
    assert len(set(prints)) == len(prints)


def test_another_module_may_change_so_there_is_no_fingerprint():
    with pytest.raises(UnstableError, match="settings is a module"):
        fingerprint(functions()["uses_settings"])


OWN = """
import math
import numpy as np
import neighbour
from neighbour import Rule, scaled
{comment}
LIMIT = {limit}
NAMES = {{"b": [1, {listed}], "a": {{3, 4}}}}
RULE = Rule({rule})

def inner(x):
    return [y + {inner} for y in x]

def reads(x):
    return inner(x), LIMIT, NAMES, RULE.apply(x), scaled(x), neighbour.FACTOR, math.sqrt(x)

WORKLOAD = [reads, np.dtype([("x", np.{type})])]
"""
NEIGHBOUR = """
import deeper

FACTOR = {factor}

def scaled(x):
    return x * deeper.DEEP

class Rule:
    def __init__(self, limit):
        self.limit = limit

    def apply(self, x):
        return x > self.limit + {method}
"""
DEFAULTS = {
    "comment": "#", "limit": 1, "listed": 2, "rule": 3, "inner": 4, "type": "int64",
    "factor": 5, "method": 6, "deep": 7,
}  # fmt: skip


def code_in(folder: Path, **files: str) -> str:
    """Return the hash of the code of module `own`, loaded as a new process would."""
    folder.mkdir(exist_ok=True, parents=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    before = list(sys.path)
    try:
        return code_of(load(str(folder / "own.py")))
    finally:
        sys.path[:] = before
        for name in files:
            sys.modules.pop(name, None)


def own_code(folder: Path, **given: object) -> str:
    """Return the hash of code that is spread over three files."""
    values = DEFAULTS | given
    deeper = f"DEEP = {values['deep']}\n"
    return code_in(
        folder, own=OWN.format(**values), neighbour=NEIGHBOUR.format(**values), deeper=deeper
    )


def test_the_hash_of_code_covers_all_that_it_reads(tmp_path: Path):
    changes = {"limit": 9, "listed": 9, "rule": 9, "inner": 9, "type": "int32", "factor": 9}
    changes |= {"method": 9, "deep": 9}
    codes = {"": own_code(tmp_path / "as it is")}
    codes |= {name: own_code(tmp_path / name, **{name: to}) for name, to in changes.items()}
    assert len(set(codes.values())) == len(codes)


def test_the_hash_of_code_ignores_its_place_and_comments(tmp_path: Path):
    first = own_code(tmp_path / "here")
    assert own_code(tmp_path / "there" / "far away") == first
    assert own_code(tmp_path / "here", comment="# another\n") == first


def made(source: str, name: str = "reads"):
    namespace = {"__name__": "somewhere"}
    exec(source, namespace)
    return namespace[name]


ONE_OF_TWO = """
def more(x): return x + 1
def less(x): return x - 1
FIRST, SECOND, THIRD = more, less, {third}
def reads(x): return FIRST(x), SECOND(x), THIRD(x)
"""
RISKY = """
def reads(x):
    try:
        y = 1 // x
{within}
    except ZeroDivisionError:
        y = 0
{behind}
    return y
"""


@pytest.mark.parametrize("digest", [code_of, fingerprint])
def test_an_object_read_under_several_names_counts_under_each(digest):
    first, second = (made(ONE_OF_TWO.format(third=third)) for third in ("more", "less"))
    assert digest(first) != digest(second)


def test_an_object_in_several_places_counts_in_each():
    one, two = [1], [2]
    assert code_of({"a": one, "b": two, "c": one}) != code_of({"a": one, "b": two, "c": two})


@pytest.mark.parametrize("digest", [code_of, fingerprint])
def test_which_lines_an_exception_is_caught_in_counts(digest):
    within = made(RISKY.format(within="        y = y // x", behind=""))
    behind = made(RISKY.format(within="", behind="    else:\n        y = y // x"))
    assert digest(within) != digest(behind)


@pytest.mark.parametrize(
    "helper",
    [
        "from deeper import DEEP\ndef uses(x): return x + DEEP\n",
        "from deeper import DEEP\nclass Uses:\n    def __call__(self, x): return x + DEEP\n"
        "uses = Uses()\n",
        "def uses(x):\n    import deeper\n    return x + deeper.DEEP\n",
        "def uses(x):\n    from deeper import DEEP\n    return x + DEEP\n",
    ],
)
@pytest.mark.parametrize("way", ["import neighbour", "from neighbour import uses"])
def test_a_constant_behind_two_imports_counts(helper, way, tmp_path: Path):
    call = "uses" if way.startswith("from") else "neighbour.uses"
    own = f"{way}\ndef WORKLOAD(x): return {call}(x)\n"
    codes = {
        code_in(tmp_path / deep, own=own, neighbour=helper, deeper=f"DEEP = {deep}\n")
        for deep in "12"
    }
    assert len(codes) == 2


TOO_FAR = """
try:
    from .... import beyond
except ImportError:
    beyond = None

def reads(x):
    from ....beyond import more
    return more(x), beyond

def calls(x):
    import {name}
    return {name}.reads(x)
"""


@pytest.mark.parametrize("package", ["", "a_package."])
def test_an_import_from_beyond_the_top_is_no_error_before_it_runs(package, tmp_path, monkeypatch):
    folder = tmp_path / package.rstrip(".")
    folder.mkdir(exist_ok=True)
    name = f"{package}goes_too_far"
    (folder / "goes_too_far.py").write_text(TOO_FAR.format(name=name))
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)
    try:
        assert len({code_of(module.reads), code_of(module.calls), code_of(module)}) == 3
    finally:
        del sys.modules[name]
        sys.modules.pop("a_package", None)


def test_arguments_of_a_construction_of_the_model_count():
    def code(window_size: int, factor: int) -> str:
        from streamlab.workloads.model import InputType, Window, aggregate

        return code_of(
            aggregate(
                name="a",
                source=InputType(name="t"),
                window=Window(advance=1, size=window_size),
                key=lambda t: 0,
                reduce=lambda w, t: factor,
                result=partial(print, factor),
                state=np.dtype([("n", np.int64)]),
                output=np.dtype([("ts", np.int64)]),
            )
        )

    assert code(2, 1) == code(2, 1)
    assert len({code(2, 1), code(3, 1), code(2, 2)}) == 3


def code_elsewhere(*workloads: str, before: str = "", **environment: str) -> list[str]:
    """Return the hashes of workloads' code in another process."""
    script = (
        f"import sys\n{before}\nfrom streamlab.workloads.registry import workload\n"
        "print(*(workload(name).code() for name in sys.argv[1:]))"
    )
    return run_python("-c", script, *workloads, environ=environment, check=True).stdout.split()


def test_code_has_the_same_hash_in_every_process():
    names = ("scale_join", "nyse_hedge", "items_sold_together")
    said = code_elsewhere(*names, PYTHONHASHSEED="7")
    assert said == [workload(name).code() for name in names]


def test_later_imports_do_not_change_the_code_of_a_workload():
    # Its oracle reads tables by a function that imports the catalogue when it is called.
    before = "import streamlab.workloads.datasets.catalog, pyarrow.parquet, pandas"
    assert code_elsewhere("campaign_views") == code_elsewhere("campaign_views", before=before)


CACHE = WeakKeyDictionary()


def test_a_cache_that_the_process_has_filled_does_not_change_the_code():
    def read():
        return len(CACHE)

    empty = code_of(read)
    CACHE[read] = "an entry"
    assert code_of(read) == empty
