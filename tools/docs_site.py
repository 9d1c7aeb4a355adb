"""Completes the documentation site: a hook of MkDocs (mkdocs.yml).

The hook generates the gallery, the parts of the papers, reference pages from the code (workloads, engines, columns of a
trial) and the list of decisions.
The hook also copies the repository's files to which documents link, so that the site works offline.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_type_hints

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from streamlab.engines.registry import engine
from streamlab.engines.registry import names as engine_names
from streamlab.lab.figures.coverage import write_page as write_papers
from streamlab.lab.figures.gallery import write_page as write_gallery
from streamlab.lab.figures.registry import figures
from streamlab.results.schema import STATUSES, TrialRow
from streamlab.workloads.model.workload import Parameter
from streamlab.workloads.registry import names as workload_names
from streamlab.workloads.registry import workload

ROOT = Path(__file__).parents[1]
COPIES = Path("repository")
"""Folder of the site with copies of files from outside docs/."""

_LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and the linked files of the repository."""
    for name, lines in _pages().items():
        files.append(File.generated(config, f"{name}.md", content="\n".join(lines) + "\n"))
    linked_paths = {path for document in _documents() for path in _linked_files(document)}
    for path in sorted(path for path in linked_paths if not path.is_relative_to("docs")):
        content = (ROOT / path).read_bytes()
        files.append(File.generated(config, str(_in_site(path)), content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to files outside docs/ to their copies in the site."""
    source = Path(page.file.src_uri)
    is_copied = source.is_relative_to(COPIES)
    folder = (source.relative_to(COPIES) if is_copied else "docs" / source).parent

    def replace_link(match: re.Match[str]) -> str:
        path = _linked_file(folder, match[2])
        if path is None:
            return match[0]
        return f"{match[1]}{os.path.relpath(_in_site(path), source.parent)}{match[3]}"

    return _LINK.sub(replace_link, markdown)


def _documents() -> Iterator[Path]:
    yield from (Path("README.md"), Path("CONTRIBUTING.md"))
    yield from (path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))


def _linked_files(document: Path) -> Iterator[Path]:
    text = (ROOT / document).read_text(encoding="utf-8")
    paths = (_linked_file(document.parent, target) for _, target, _ in _LINK.findall(text))
    yield from (path for path in paths if path is not None)


def _linked_file(folder: Path, target: str) -> Path | None:
    """Return the file of the repository to which a link points; None for other links."""
    path = Path(os.path.normpath(ROOT / folder / target))
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) and path.is_file() else None


def _in_site(path: Path) -> Path:
    """Return the place in the site for a file of the repository."""
    if path.is_relative_to("docs"):
        return path.relative_to("docs")
    # Browsers show the text of other files only with a known suffix.
    is_shown = path.suffix in (".md", ".png", ".svg")
    return COPIES / (path if is_shown else path.with_name(f"{path.name}.txt"))


def _pages() -> dict[str, list[str]]:
    return {
        "gallery": [*write_gallery(figures(), ROOT / "docs" / "gallery")],
        "papers": [*write_papers()],
        "reference/workloads": [*_workloads()],
        "reference/engines": [*_engines()],
        "reference/columns": [*_columns()],
        "decisions/README": [*_decisions()],
    }


def _decisions() -> Iterator[str]:
    yield "# Decisions"
    yield ""
    yield "Records of choices that are hard to undo: context, choice, what was rejected."
    yield ""
    for path in sorted((ROOT / "docs" / "decisions").glob("0*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        yield f"- [{title}]({path.name})"


def _workloads() -> Iterator[str]:
    yield "# Workloads"
    yield ""
    yield "`lab list workloads` prints these. Set a parameter in a matrix as `params` (input) or `query` (computation)."
    for name in workload_names():
        entry = workload(name)
        yield from ("", f"## {name}", "", f"{entry.title}.", "")
        if entry.paper:
            yield from (f"Source: {entry.paper}", "")
        yield f"- Input: `{entry.input_name}`"
        yield f"- Model: {type(entry.program).__name__}"
        yield f"- Output columns: {', '.join(f'`{c}`' for c in entry.program.output.names or ())}"
        yield from _parameters("Parameter of the input", entry.parameters.items())
        yield from _parameters("Query parameter", entry.query.items())


def _parameters(title: str, parameters: Iterable[tuple[str, Parameter]]) -> Iterator[str]:
    rows = [f"| `{n}` | `{p.default}` | {_cell(p.help)} |" for n, p in parameters]
    if rows:
        yield from ("", f"| {title} | default | meaning |", "|---|---|---|", *rows)


def _engines() -> Iterator[str]:
    yield "# Engines"
    yield ""
    yield "`lab list engines` prints the variants. Set an option in a matrix as `options` of an `[[engine]]`."
    for name in engine_names():
        adapter = engine(name)
        yield from ("", f"## {name}")
        for variant in adapter.variants():
            summary = variant.summary[:1].upper() + variant.summary[1:]
            load = "takes" if variant.takes_load else "takes no"
            yield from ("", f"### {name}/{variant.name}", "", f"{summary}; {load} offered load.")
            if variant.options is not None:
                yield from _options(variant.options)


def _options(options: Any) -> Iterator[str]:
    types = get_type_hints(options, include_extras=True)
    rows = [
        f"| `{option.name}` | `{_cell(_type_name(types[option.name]))}` | {_default(option)} |"
        for option in fields(options)
    ]
    if rows:
        yield from ("", "| option | type | default |", "|---|---|---|", *rows)


def _columns() -> Iterator[str]:
    yield "# Columns of a trial"
    yield ""
    yield "Each trial is a row of `trials.parquet` in the run's folder, and a JSON file with the same keys."
    yield from ("", "| column | type | meaning |", "|---|---|---|")
    for name, type_ in get_type_hints(TrialRow, include_extras=True).items():
        if hasattr(type_, "__metadata__"):
            meaning = _cell(type_.__metadata__[0])
            yield f"| `{name}` | `{_cell(_type_name(type_.__origin__))}` | {meaning} |"
    yield from ("", "## Statuses", "", "| status | meaning |", "|---|---|")
    yield from (f"| `{status}` | {_cell(meaning)} |" for status, meaning in STATUSES.items())


def _default(option: Any) -> str:
    return "required" if option.default is MISSING else f"`{option.default}`"


def _type_name(type_: Any) -> str:
    return type_.__name__ if isinstance(type_, type) else str(type_).replace("typing.", "")


def _cell(text: str) -> str:
    return re.sub(r"([|\[\]])", r"\\\1", text).replace("\n", " ")
