"""Renders the templates of a package into a new folder, and of a program into a new file."""

import keyword
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import jinja2

from streamlab.lab.errors import LabError

TEMPLATES = Path(__file__).with_name("templates")

BATCH, STREAMING = "batch", "streaming"


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language of a program.

    Attributes:
        ending: ending of the program's file name.
        build: command that builds the program; empty if there is nothing to build.
        run: command that runs the program, for `lab run --command`.
    """

    ending: str
    build: str = ""
    run: str = "{program} {{input}}"


LANGUAGES: Mapping[str, Language] = {
    "python": Language(ending=".py", run="python3 {file} {{input}}"),
    "awk": Language(ending=".awk", run="awk -f {file} {{input}}"),
    "c": Language(ending=".c", build="cc -O2 -o {program} {file}"),
    "go": Language(ending=".go", build="go build -o {program} {file}"),
    "javascript": Language(ending=".js", run="node {file} {{input}}"),
    "rust": Language(ending=".rs", build="rustc -O -o {program} {file}"),
}
"""Languages of `lab new program`; each language has a template with the language's name."""

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")


def engine_files(module: str, kind: str) -> dict[str, str]:
    """Return the template of each file of an engine's package, by path."""
    return {
        ".gitignore": "gitignore.j2",
        "pyproject.toml": "engine/pyproject.toml.j2",
        "README.md": "engine/README.md.j2",
        f"{module}/__init__.py": "engine/init.py.j2",
        f"{module}/engine.py": f"engine/{kind}.py.j2",
        f"tests/test_{module}.py": "engine/test.py.j2",
    }


def workload_files(module: str) -> dict[str, str]:
    """Return the template of each file of a workload's package, by path."""
    return {
        ".gitignore": "gitignore.j2",
        "pyproject.toml": "workload/pyproject.toml.j2",
        "README.md": "workload/README.md.j2",
        f"{module}/__init__.py": "workload/init.py.j2",
        f"{module}/workload.py": "workload/workload.py.j2",
        f"{module}/readings.csv": "workload/readings.csv.j2",
        f"tests/test_{module}.py": "workload/test.py.j2",
    }


def module_of(name: str) -> str:
    """Return the module name of a package.

    Raises:
        LabError: the name is not a valid package name, or the name of another module.
    """
    module = name.replace("-", "_")
    if not _NAME.fullmatch(name) or keyword.iskeyword(module):
        raise LabError(
            f"{name!r} is not a valid package name; use words of lower-case letters and digits, "
            "joined by - or _, e.g. my-engine"
        )
    if module in sys.stdlib_module_names or find_spec(module) is not None:
        raise LabError(f"{name!r} would hide the installed module {module!r}; use another name")
    return module


def write_package(folder: Path, files: Mapping[str, str], values: Mapping[str, object]) -> None:
    """Write all files of a package, each from its template.

    Raises:
        LabError: the folder exists already.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
    )
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise LabError(f"{folder} exists already; use another name, or move it away") from None
    for path, template in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        text = environment.get_template(template).render(values)
        (folder / path).write_text(text, encoding="utf-8")


def write_program(name: str, language: str, folder: Path) -> list[str]:
    """Write a program that runs event_window, and return the commands that build and run it.

    Raises:
        LabError: the name is not valid, or the file exists already.
    """
    if not _NAME.fullmatch(name):
        raise LabError(f"{name!r} is not a valid name; use lower-case letters, digits, - and _")
    commands = LANGUAGES[language]
    file = folder / f"{name}{commands.ending}"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write((TEMPLATES / "program" / f"{language}.j2").read_text(encoding="utf-8"))
    except FileExistsError:
        raise LabError(f"{file} exists already; use another name, or move it away") from None
    paths = {"file": shlex.quote(str(file)), "program": shlex.quote(str(folder / name))}
    run = f"lab run event_window --command {shlex.quote(commands.run.format(**paths))}"
    return [f"created {file}; next", *filter(None, (commands.build.format(**paths), run))]


def class_of(module: str) -> str:
    """Return the class name for a module, e.g. `MyEngine` for `my_engine`."""
    return "".join(word.capitalize() for word in module.split("_"))
