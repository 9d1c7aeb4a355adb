"""Tasks for Spark that need no session of their own, and what must come of them."""

from streamlab.engines.protocol import Task
from streamlab.engines.small_dataset import write_dataset
from streamlab.engines.spark.adapter import SparkEngine
from streamlab.workloads.model.answers.trace import compare


def spark_task(chosen, data, folder, *, variant="streaming", workers=2, **options):
    """Return a task on an input, written below `folder`; without a warm-up unless asked for."""
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    return Task(
        workload=chosen,
        dataset=write_dataset(data, chosen.name, folder / "data"),
        variant=variant,
        workers=workers,
        batch=1,
        options={"warm_up_rounds": 0} | options,
        scratch=scratch,
    )


def assert_right(given):
    """Run a task, compare it with the oracle, and return what was measured and the outputs."""
    prepared = SparkEngine().prepare(given)
    try:
        measured = prepared.run()
        answer = prepared.answer()
    finally:
        prepared.close()
    expected = given.workload.oracle(given.dataset.load())
    difference = compare(expected, answer, given.workload.output)
    assert difference.equal, difference.render()
    assert measured.events == given.dataset.events
    return measured, len(expected["ts"])
