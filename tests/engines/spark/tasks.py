"""Tasks for Spark that need no session of their own, and what must come of them."""

from streamlab.engines.spark.adapter import SparkEngine
from tests.engines.tasks import check_task, task_of

VARIANTS = ("streaming", "batch")


def spark_task(chosen, data, folder, *, variant="streaming", workers=2, **options):
    """Return a task on an input, written below `folder`; without a warm-up unless asked for."""
    options = {"warm_up_rounds": 0} | options
    return task_of(chosen, data, folder, variant, workers=workers, options=options)


def assert_right(task):
    """Run a task, compare it with the oracle; return what was measured and how many outputs."""
    measured, answer = check_task(SparkEngine(), task)
    return measured, len(answer["ts"])


def micro_batches(variant, count):
    """Return the options for so many, where a variant has them."""
    return {"micro_batches": count} if variant.endswith("streaming") else {}
