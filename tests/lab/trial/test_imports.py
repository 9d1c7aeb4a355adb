import json

from streamlab.lab.trial.spec import write_job
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.registry import workload
from tests.lab.engine_trial import engine_trial
from tests.processes import run_python

SCRIPT = """
import json, sys
from pathlib import Path
from streamlab.lab.trial.evidence import write_evidence
from streamlab.lab.trial.process import gather
from streamlab.lab.trial.report import Reporter
from streamlab.lab.trial.spec import read_job

path = Path(sys.argv[1])
evidence = gather(read_job(path), path.parent, Reporter())
write_evidence(evidence, path.parent)
heavy = ("pandas", "numba", "scipy", "matplotlib", "hypothesis", "pyarrow.dataset", "streamlab.lab.judge")
print(json.dumps([evidence.status, *(name for name in heavy if name in sys.modules)]))
"""


def test_a_trial_imports_no_more_than_it_needs(tmp_path, small_dataset):
    """A trial that imports pandas and Numba takes twice the time and memory of one that does not.

    PyArrow imports pandas at many of its conversions.
    """
    dataset, path = small_dataset(), tmp_path / "spec.json"
    expected(workload("event_window"), dataset)  # the oracle may import what it likes
    trial = engine_trial(
        dataset=dataset,
        series=tmp_path / "series.parquet",
        histograms=tmp_path / "trial.hlog",
        outputs=tmp_path / "outputs.parquet",
    )
    write_job(trial, path)
    said = run_python("-c", SCRIPT, str(path), check=True)
    assert json.loads(said.stdout.splitlines()[-1]) == [None]
