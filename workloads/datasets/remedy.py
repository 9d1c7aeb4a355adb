"""Finds the command that makes a damaged or missing dataset again.

Building or importing replaces damaged files. Equal content gets the same id.
"""

import shlex

from streamlab.workloads.datasets.dataset import NOT_STATED, Dataset
from streamlab.workloads.registry import names, usable


def rebuild_command(dataset: Dataset) -> str:
    """Return the command that makes a dataset again, as the end of an error message."""
    origin = dataset.origin
    files, params = origin.get("files"), origin.get("params")
    if files == []:
        return f"make it again from {origin.get('table')}: run what declares that table"
    if "tables" in origin:
        return (
            "make it again from its files with `lab data build` and the file that has workload "
            f"{workload_of_input(dataset.workload)}"
        )
    if isinstance(files, list):
        words = ["lab", "data", "import", str(origin.get("import"))]
        for file in files:
            words += ["--file", str(file.get("name"))]
        where = ""
        if origin.get("import") == "table":
            reader = workload_of_input(dataset.workload)
            if reader not in names():
                where = f", where REFERENCE is the file or module:ATTRIBUTE of workload {reader}"
            words += ["--workload", "REFERENCE" if where else reader]
        words += ["--streams", str(origin.get("streams", 1))]
        for option, value in (("--source", dataset.source), ("--licence", dataset.licence)):
            words += [] if value == NOT_STATED else [option, value]
        return (
            f"make it again from its files: {shlex.join(words)}{where} (and the columns and "
            f"settings that `lab data show {dataset.id[:8]}` lists)"
        )
    if not isinstance(params, dict) or "events" not in origin:
        return "remove its folder and build or import it again"
    workload = workload_of_input(dataset.workload)
    if workload not in names():
        return f"make it again with `lab data build` and the file that has workload {workload}"
    words = ["lab", "data", "build", workload]
    words += ["--events", str(origin["events"]), "--seed", str(origin.get("seed"))]
    for name, value in params.items():
        words += ["--param", f"{name}={value}"]
    return f"make it again with: {shlex.join(words)}"


def workload_of_input(input_name: str) -> str:
    """Return a workload that reads an input, because `lab data build` requires a workload's name."""
    if input_name in names():
        return input_name
    readers = (workload.name for workload in usable() if workload.input_name == input_name)
    return next(readers, input_name)
