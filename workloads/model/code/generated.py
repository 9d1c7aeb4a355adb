"""Makes functions from generated source.

The source is stored where tracebacks look for it, under a name that depends on its text only.
"""

import hashlib
import linecache
from collections.abc import Mapping, Sequence
from types import FunctionType


def define(
    name: str, parameters: str, lines: Sequence[str], names: Mapping[str, object]
) -> FunctionType:
    """Return the function `name(parameters)` with a body of lines, which may use `names`."""
    body = "\n".join(f"    {line}" for line in (lines or ["pass"]))
    return define_all(f"def {name}({parameters}):\n{body}\n", names)[name]


def define_all(source: str, names: Mapping[str, object]) -> dict[str, FunctionType]:
    """Return the functions of a source text, which may use `names`."""
    file = f"<generated {hashlib.sha256(source.encode()).hexdigest()[:12]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {"__name__": __name__, **names}
    exec(compile(source, file, "exec", dont_inherit=True), namespace)
    return {
        name: value
        for name, value in namespace.items()
        if isinstance(value, FunctionType) and name not in names
    }
