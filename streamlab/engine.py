"""Collects the public API for authors of engines: see docs/extending.md.

An engine is a class with a `name`, registered in the entry-point group `lab.engines`:

    from streamlab.engine import BatchEngine

    class Mine(BatchEngine):
        name = "mine"
        queries = {"event_window": my_event_window}

`Engine` and `Prepared` are the protocols that the lab calls; the base classes implement most of them.
"""

from streamlab.engines.base import (
    BaseEngine,
    BatchEngine,
    PreparedBatch,
    PreparedStream,
    StreamingEngine,
)
from streamlab.engines.conditions import (
    BLOCK,
    DECODING,
    FILE,
    MEMORY,
    MICRO_BATCH,
    PYTHON,
    READING,
    RECORD,
    SOCKET,
    START_UP,
    WHOLE,
    Conditions,
)
from streamlab.engines.declared_queries import (
    GENERATED,
    Dialect,
    Translated,
    adds_in_order,
    columns_before,
    generated_variant,
    nan_columns,
    order_of_windows,
    select_pairs,
    translate_expression,
    value_of_aggregate,
)
from streamlab.engines.environment import Environment
from streamlab.engines.errors import EngineCrashError, EngineError, UnsupportedError
from streamlab.engines.options import options_of
from streamlab.engines.pacer import Pacer
from streamlab.engines.protocol import (
    ADAPTIVE,
    FULL,
    INTERFACE,
    Engine,
    Histogram,
    Measured,
    OfferedLoad,
    Prepared,
    Progress,
    Property,
    Sent,
    Task,
    Variant,
)
from streamlab.engines.recording import OpenRun, measured
from streamlab.engines.tables import TableEngine, memory_and_file, modules_in, no_events
from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.model import (
    Columns,
    DGSProgram,
    Input,
    ListColumn,
    Pipeline,
    Query,
    Stream,
    Workload,
)
from streamlab.workloads.model.streams.records import Emitter
from streamlab.workloads.model.streams.total_order import MergedInput, merge

__all__ = [
    "ADAPTIVE",
    "BLOCK",
    "DECODING",
    "FILE",
    "FULL",
    "GENERATED",
    "INTERFACE",
    "MEMORY",
    "MICRO_BATCH",
    "PYTHON",
    "READING",
    "RECORD",
    "SOCKET",
    "START_UP",
    "WHOLE",
    "BaseEngine",
    "BatchEngine",
    "Columns",
    "Conditions",
    "DGSProgram",
    "Dataset",
    "DatasetStream",
    "Dialect",
    "Emitter",
    "Engine",
    "EngineCrashError",
    "EngineError",
    "Environment",
    "Histogram",
    "Input",
    "ListColumn",
    "Measured",
    "MergedInput",
    "OfferedLoad",
    "OpenRun",
    "Pacer",
    "Pipeline",
    "Prepared",
    "PreparedBatch",
    "PreparedStream",
    "Progress",
    "Property",
    "Query",
    "Sent",
    "Stream",
    "StreamingEngine",
    "TableEngine",
    "Task",
    "Translated",
    "UnsupportedError",
    "Variant",
    "Workload",
    "adds_in_order",
    "columns_before",
    "generated_variant",
    "measured",
    "memory_and_file",
    "merge",
    "modules_in",
    "nan_columns",
    "no_events",
    "options_of",
    "order_of_windows",
    "select_pairs",
    "translate_expression",
    "value_of_aggregate",
]
