"""An arm imports the source of its revision, or the gate has no verdict."""

import ctypes
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from streamlab.lab.errors import GateError
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.code_location import Place, find_loaded_files, find_strays
from streamlab.lab.gate.installed_code import check_different, check_installed
from tests.lab.gate.user_repository import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is absent here")

OLD, NEW = "def run():\n    return 1\n", "def run():\n    return 2\n"
NATIVE = "crunch/native.cpython-311-x86_64-linux-gnu.so"
BUILT = "build/lib.linux-x86_64-cpython-311"


def arm_of(folder: Path, sources: dict[str, str], installed: dict[str, str]) -> Arm:
    """Return an arm whose source and site folders have these files."""
    tree, site = folder / "source", folder / "site"
    for place, files in ((tree, sources), (site, installed)):
        place.mkdir(parents=True)
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    git(tree, "init", "-q")
    git(tree, "add", "--all")
    return Arm(
        name=folder.name,
        revision="main",
        python=Path(sys.executable),
        path=(site, tree / "src", tree),
        tree=tree,
    )


def loaded(arm: Arm) -> list[Path]:
    """Return all modules of an arm's site folder, as if all were imported."""
    return [file for file in arm.path[0].rglob("*") if file.suffix in (".py", ".so")]


@pytest.mark.parametrize(
    ("sources", "installed"),
    [
        pytest.param({"crunch/a.py": NEW}, {"crunch/a.py": NEW}, id="a package"),
        pytest.param({"src/crunch/a.py": NEW}, {"crunch/a.py": NEW}, id="src"),
        pytest.param({"python/x/a.py": NEW}, {"a.py": NEW}, id="another layout"),
        pytest.param(
            {"crunch/a.py": NEW, "build/lib/crunch/a.py": OLD},
            {"crunch/a.py": NEW},
            id="a build folder that was not used",
        ),
        pytest.param({"a.py": "# said\n" + NEW}, {"a.py": NEW}, id="comments"),
        pytest.param({"a.py": '__version__ = "0"'}, {"a.py": '__version__ = "1.2"'}, id="version"),
        pytest.param({"_version.py": "V = 0"}, {"_version.py": "V = 1"}, id="versioneer"),
        pytest.param({"crunch/a.py": NEW}, {"crunch/made.py": OLD}, id="generated"),
        pytest.param({"crunch/a.c": "new"}, {NATIVE: "compiled"}, id="compiled"),
        pytest.param({NATIVE: "binary"}, {NATIVE: "binary"}, id="a binary is the source"),
        pytest.param({"a.py": OLD, "x/a.py": NEW}, {"a.py": NEW}, id="two of one name"),
        pytest.param({"build/tool.py": NEW}, {"build/tool.py": NEW}, id="a package named build"),
        pytest.param(
            {"pyproject.toml": '[project]\nname = "crunch"', "crunch/vendor/six.py": OLD},
            {
                "six.py": NEW,
                "six-1.dist-info/METADATA": "Name: six",
                "six-1.dist-info/RECORD": "six.py,,",
            },
            id="a dependency that is vendored, too",
        ),
    ],
)
def test_an_arm_whose_code_is_its_source_is_measured(sources, installed, tmp_path):
    arm = arm_of(tmp_path / "new", sources, installed)
    check_installed(arm, loaded(arm))


@pytest.mark.parametrize(
    ("sources", "installed", "words"),
    [
        pytest.param(
            {"crunch/a.py": NEW, "build/lib/crunch/a.py": OLD},
            {"crunch/a.py": OLD},
            [
                "crunch/a.py is not its source crunch/a.py but the committed file build/lib/crunch/a.py",
                "`rm -rf build &&`",
            ],
            id="build",
        ),
        pytest.param(
            {"src/crunch/a.py": NEW, "part/build/lib/crunch/a.py": OLD},
            {"crunch/a.py": OLD},
            [
                "source src/crunch/a.py but the committed file part/build/lib/",
                "git rm -r --cached part/build",
            ],
            id="build of a part",
        ),
        pytest.param(
            {"crunch/a.c": "new", f"{BUILT}/{NATIVE}": "old"},
            {NATIVE: "old"},
            [f"{NATIVE} is not compiled from its source but the committed file {BUILT}/{NATIVE}"],
            id="compiled",
        ),
        pytest.param(
            {"crunch/a.py": NEW},
            {"crunch/a.py": OLD},
            [
                "not its source crunch/a.py: no verdict",
                "install from its source crunch/a.py, without a stored wheel or a cache",
            ],
            id="a stored wheel",
        ),
        pytest.param(
            {"a.py": "ROUNDS = 2"},
            {"a.py": "ROUNDS = 1"},
            ["a.py is not its source"],
            id="constant",
        ),
        pytest.param({"a.py": NEW}, {"a.py": "no code ("}, ["a.py is not its source"], id="broken"),
    ],
)
def test_an_arm_whose_code_is_not_its_source_has_no_verdict(sources, installed, words, tmp_path):
    arm = arm_of(tmp_path / "new", sources, installed)
    with pytest.raises(GateError, match=r"new arm, main: the installed .* no verdict") as error:
        check_installed(arm, loaded(arm))
    assert all(each in str(error.value) for each in words), error.value


@pytest.fixture
def arms(tmp_path):
    """Return both arms with the same compiled module, from sources that differ."""
    return tuple(
        arm_of(tmp_path / side, {"crunch/a.c": side}, {NATIVE: "old"}) for side in ("old", "new")
    )


def test_compiled_code_that_is_the_same_in_both_arms_though_its_source_differs_has_no_verdict(arms):
    files = [loaded(arm) for arm in arms]
    with pytest.raises(GateError, match=r"same code.*native.* no verdict.*compile it"):
        check_different(*files, arms, ["README.md", "crunch/a.c"])


def test_a_library_of_the_checkout_that_an_arm_loads_is_found(tmp_path):
    found = find_spec("numpy.random._common")
    assert found is not None and found.origin is not None
    library = shutil.copy(found.origin, tmp_path / "libcrunch.so")
    assert find_strays(tmp_path, ()) == () == find_loaded_files(tmp_path)
    ctypes.CDLL(str(library))
    assert find_strays(tmp_path, ()) == (Place(part="library 'libcrunch.so'", file=library),)
    assert find_loaded_files(tmp_path) == (library,)


def test_arms_that_load_the_same_code_are_reported(arms):
    files = [loaded(arm) for arm in arms]
    reason = check_different(*files, arms, ["README.md"])
    assert (
        reason is not None and "both arms load the same code" in reason and "(README.md)" in reason
    )
    assert check_different(*files, arms, []) is None
    (arms[1].path[0] / NATIVE).write_text("new")
    assert check_different(*files, arms, ["README.md"]) is None
