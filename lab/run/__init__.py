"""The parent of trials: finds the input, starts trials one after the other, keeps what they say.

The package is what `lab.run(...)` calls, too: Python binds a package to its name in the parent as
soon as any module of it is imported, so no function of that name could stay there.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Run(ModuleType):
    """Modules may have a class of their own: data model, "Customizing module attribute access"."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Run a matrix, or workloads on engines; see `lab.notebook.run`."""
        return import_module("lab.notebook").run(*given, **named)


sys.modules[__name__].__class__ = _Run
