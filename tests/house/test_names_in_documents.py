"""Paths and dotted names in documents, docstrings and comments exist."""

import ast
import re
from pathlib import Path

import pytest

from streamlab.lab.host.git import git

ROOT = Path(__file__).parents[2]
THIS = "tests/house/test_names_in_documents.py"
PACKAGES = ("lab", "reports", "results", "engines", "workloads", "benchmarks")
MADE_LATER = ("results/runs", "results/figures", "reports/out", "build")
"""Files that runs and builds create; .gitignore lists them."""

NOT_OURS = {
    "malloc.h": "the C library's",
    "my_package.backlog": "a reader's",
    "package.module": "anybody's",
    "path/to/file.py": "anybody's",
    "totals.py": "the file of docs/tutorial.md",
    "core/NAME": "a family's, in CMakeLists.txt",
}
NOT_IDENTIFIERS = {
    "NUMBA_CPU_FEATURES": "Numba's",
    "addBatch": "Spark's",
    "n_name_rows": "n and name stand for an operator's, as in the next three",
    "n_name_cost_ns": "",
    "n_name_selectivity": "",
    "n_name_time_share": "",
}
PATH = re.compile(r"(?<![\w/.<$*{-])((?:[\w.-]+/)+[\w.-]*\w|[\w-]+\.(?:h|cc|py|j2))(?![\w*<{(])")
IDENTIFIER = re.compile(r"`([A-Za-z]\w*(?:_|[a-z](?=[A-Z]))\w+)`")
"""Words that only name code: they have an underscore, or a capital inside."""

DOTTED = re.compile(r"(?<![\w./-])(streamlab(?:\.[A-Za-z_]\w*)+)(?![\w(/])")


def committed(*suffixes: str) -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout (an image or an archive): nothing says which files count")
    # Those that are there but not yet added count as well.
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = [Path(name) for name in listed.split("\0") if name]
    return [path for path in names if (ROOT / path).is_file() and path.suffix in suffixes]


@pytest.fixture(scope="module")
def parts_of_paths() -> set[str]:
    """Every run of components of a path in the tree: `core/run/clock.h` of a longer one."""
    suffixes = (
        ".py",
        ".h",
        ".cc",
        ".java",
        ".rs",
        ".sql",
        ".md",
        ".toml",
        ".json",
        ".csv",
        ".j2",
        ".yml",
    )
    found = set()
    for path in [
        *committed(*suffixes, ".svg", ".png", ".txt", ".css", ".pyi", ""),
        Path(".venv/bin"),
    ]:
        for begin in range(len(path.parts)):
            for end in range(begin, len(path.parts)):
                found.add("/".join(path.parts[begin : end + 1]))
    return found


def prose(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a file that people read: a document's, or comments and docstrings."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = list(enumerate(text.splitlines(), 1))
    if path.suffix == ".md":
        return lines
    if path.suffix in (".h", ".cc"):
        return [(n, line[line.find("//") :]) for n, line in lines if re.search(r"(?<!:)//", line)]
    said: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            said |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return [(n, line) for n, line in lines if n in said or line.lstrip().startswith("#")]


def is_path_of_ours(text: str, parts: set[str]) -> bool:
    """Return whether a text looks like a path of this tree: a source file, or below a folder."""
    return bool(re.search(r"\.(h|cc|py|j2)$", text)) or (
        text.split("/")[0] in ("core", "bindings", "docs", "tests", "tools", *PACKAGES)
        # Prose joins words by a slash as well: "multicore/dgs" is a cell, and "lab/reports" two.
        and ("." in text.rsplit("/", 1)[1] or f"{text.split('/')[0]}/{text.split('/')[1]}" in parts)
    )


def documents_and_sources() -> list[Path]:
    return [path for path in committed(".md", ".py", ".h", ".cc") if path != Path(THIS)]


def test_every_path_in_documents_docstrings_and_comments_exists(parts_of_paths):
    lost = [
        f"{path}:{number}: {found}"
        for path in documents_and_sources()
        for number, line in prose(path)
        for found in PATH.findall(line)
        if is_path_of_ours(found, parts_of_paths)
        and found not in parts_of_paths
        and found not in NOT_OURS
        and not found.startswith(MADE_LATER)
    ]
    assert lost == []


def test_every_dotted_name_in_documents_docstrings_and_comments_exists():
    lost = [
        f"{path}:{number}: {found}"
        for path in documents_and_sources()
        for number, line in prose(path)
        for found in DOTTED.findall(line)
        if found not in NOT_OURS and not is_a_name(found)
    ]
    assert lost == []


def test_every_identifier_in_the_documents_is_one_of_the_code():
    words = {path.stem for path in committed(".py", ".cc", ".h", ".java", ".rs")}
    for path in committed(
        ".py", ".pyi", ".h", ".cc", ".java", ".rs", ".toml", ".j2", ".csv", ".txt", ""
    ):
        if path.parts[:2] != ("tests", "house"):
            words |= set(re.findall(r"\w+", (ROOT / path).read_text(encoding="utf-8")))
    lost = [
        f"{path}:{number}: {found}"
        for path in committed(".md")
        for number, line in prose(path)
        for found in IDENTIFIER.findall(line)
        if found not in words and found not in NOT_IDENTIFIERS
    ]
    assert lost == []


def test_every_class_in_a_docstring_is_one_of_the_code():
    classes, mentions = set(), []
    for path in committed(".py"):
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes.add(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                classes |= {alias.asname or alias.name for alias in node.names}
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                mentions += [(path, name) for name in re.findall(r"`([A-Z]\w+)\.\w+", text)]
    assert [(str(path), name) for path, name in mentions if name not in classes] == []
    assert mentions


def is_a_name(dotted: str) -> bool:
    """Return whether a module, or a name in a module, is called so."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        at = ROOT.joinpath(*parts[:end])
        files = (at.with_suffix(".py"), at.with_suffix(".pyi"), at / "__init__.py")
        rest = parts[end : end + 1]
        for file in filter(Path.is_file, files):
            return not rest or bool(re.search(rf"\b{rest[0]}\b", file.read_text(encoding="utf-8")))
        if at.is_dir():
            return not rest
    return False


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`core/run/clock.h` holds", ["core/run/clock.h"]),
        ("see worker.cc, and `lab/runner/`.", ["worker.cc", "lab/runner"]),
        ("(series/*.parquet, a/<b>/c)", []),
    ],
)
def test_paths_are_found_in_prose(text, found):
    assert PATH.findall(text) == found


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("streamlab.lab.errors", True),
        ("streamlab.lab.errors.LabError", True),
        ("streamlab.lab.errors.NoSuchError", False),
        ("lab.no_such", False),
        ("streamlab.engines.multicore._core", True),
    ],
)
def test_dotted_names_are_looked_up_in_the_module_itself(name, there):
    assert is_a_name(name) is there


def attributes_of(class_: ast.ClassDef) -> set[str]:
    """Names that a class assigns, annotates or defines, in its body or on `self`."""
    names = set()
    for node in ast.walk(class_):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
    return names


def test_a_class_has_the_attributes_that_its_docstring_lists():
    missing = []
    for path in committed(".py"):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        for class_ in classes.values():
            _, _, section = (ast.get_docstring(class_) or "").partition("\nAttributes:\n")
            section = re.split(r"^\S", section, maxsplit=1, flags=re.MULTILINE)[0]
            listed = re.findall(r"^    (\w+(?:, \w+)*):", section, re.MULTILINE)
            bases = [base.id for base in class_.bases if isinstance(base, ast.Name)]
            attributes = attributes_of(class_).union(
                *(attributes_of(classes[base]) for base in bases if base in classes)
            )
            missing += [
                f"{path}: {class_.name}.{name}"
                for names in listed
                for name in names.split(", ")
                if name not in attributes
            ]
    assert not missing
