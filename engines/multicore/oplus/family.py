"""Defines the variants `vsn`, `sn` and `sn-map`, which run queries of operators O+."""

from dataclasses import replace

from streamlab.engines.multicore.oplus import map_stage
from streamlab.engines.multicore.oplus.options import MapStageOptions, OplusOptions, check_instances
from streamlab.engines.multicore.oplus.refusal import check_streams
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.protocol import Task
from streamlab.workloads.model import Query


def _unsupported(task: Task, options: OplusOptions) -> str | None:
    return check_streams(task.dataset) or check_instances(task.workers, options)


def _unsupported_sn(task: Task, options: OplusOptions) -> str | None:
    query = task.workload.program
    if isinstance(query, Query) and options.fuses(query.operators[0]):
        return (
            f"{task.workload.name} is a join of all pairs over the columns of a shared log, which "
            'shared-nothing instances do not have; give join_form = "operator10"'
        )
    return _unsupported(task, options)


def _unsupported_sn_map(task: Task, options: OplusOptions) -> str | None:
    query = task.workload.program
    return (
        check_streams(task.dataset)
        or (map_stage.check_query(query) if isinstance(query, Query) else None)
        or map_stage.check_maps(options.maps(task.workers), task.dataset)
    )


VSN = Family(
    name="vsn",
    summary="virtual shared-nothing: instances share state and an ordered log; operators O+",
    models=(Query,),
    run=OplusRun,
    unsupported=_unsupported,
    options_type=OplusOptions,
    properties=properties(
        "the operator does not mention its instances",
        "the mapping of buckets, not the operator, does",
        "only f_MK, f_U, f_O and f_S are used",
    ),
)
SN = replace(
    VSN,
    name="sn",
    summary="shared-nothing: queues, copies and a state for each instance; operators O+",
    run=lambda query, data, settings, options: OplusRun(
        query, data, settings, replace(options, shared_nothing=True)
    ),
    unsupported=_unsupported_sn,
)
SN_MAP = replace(
    VSN,
    name="sn-map",
    summary="shared-nothing with a map stage: a tuple for each key, routed by it; operators O+",
    unsupported=_unsupported_sn_map,
    options_type=MapStageOptions,
)
