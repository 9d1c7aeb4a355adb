"""Names the topics of a trial on a broker, and deletes the topics of a killed trial.

An engine deletes its topics when it closes (`Task.topics`).
"""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from streamlab.engines.protocol import new_topics
from streamlab.lab.host.git import environment
from streamlab.lab.host.installation import python_path
from streamlab.lab.trial.spec import BrokerJob, EngineTrial, Job

TIMEOUT_S = 100.0
"""Time limit of a deletion, which is longer than the limits of the requests to the broker."""


def name_topics(job: Job) -> Job:
    """Return a job with a prefix for the names of its topics, if it uses a broker."""
    if isinstance(job, EngineTrial | BrokerJob) and _address(job):
        return msgspec.structs.replace(job, topics=new_topics())
    return job


def deletion(job: Job) -> list[str]:
    """Return the command that deletes the topics of a job; empty if it has none."""
    if not isinstance(job, EngineTrial | BrokerJob) or not job.topics:
        return []
    return [sys.executable, "-m", "streamlab.engines.broker.topics", _address(job), job.topics]


def delete_topics(job: Job, log: Path) -> None:
    """Delete the topics of a job whose processes have ended. A failure leaves a traceback in `log`."""
    command = deletion(job)
    if not command:
        return
    with log.open("ab") as output, suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment() | {"PYTHONPATH": python_path()},
            timeout=TIMEOUT_S,
            check=False,
        )


def _address(job: EngineTrial | BrokerJob) -> str:
    return job.address if isinstance(job, BrokerJob) else str(job.options.get("broker", ""))
