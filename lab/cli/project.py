"""`lab project`: a workload's rate on more cores and machines than are here, simulated."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.cli import EXIT_OK
from lab.cli.complete import DATASETS, WORKLOADS
from lab.cli.paths import AbsolutePath

if TYPE_CHECKING:
    from lab.project.projection import Setting

MOST_WORKERS = 4096
"""Of all machines: a plan for more takes minutes."""


class Numbers(click.ParamType[list[int]]):
    """`36`, `1,2,4` or `1,2,4..128`: from there on twice as many each time, up to the last."""

    name = "N[,N...][..N]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        """Return the numbers, ascending."""
        if isinstance(value, list):
            return value
        text = str(value)
        # `1,2,4,...,128` is how people write it.
        head, dots, last = text.replace(" ", "").replace(",...,", "..").partition("..")
        words = [*head.split(","), *([last] if dots else [])]
        if not all(word.isdecimal() and int(word) >= 1 for word in words):
            self.fail(
                f"{text!r} is not a list of numbers, each at least 1: give e.g. 36, 1,2,4 or "
                "1..128",
                param,
                ctx,
            )
        numbers = [int(word) for word in words]
        if dots:
            *numbers, most = numbers
            if most < numbers[-1]:
                self.fail(
                    f"{text!r} ends at {most}, below {numbers[-1]}; give the smaller one first",
                    param,
                    ctx,
                )
            while numbers[-1] * 2 < most:
                numbers.append(numbers[-1] * 2)
            numbers.append(most)
        return sorted(set(numbers))


@click.command("project")
@click.argument("workload", **WORKLOADS)
@click.option("--cores", type=Numbers(), required=True, help="Cores of a machine, a worker each.")
@click.option("--nodes", type=Numbers(), default="1", help="Machines with so many cores each.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A generator parameter.")
@click.option(
    "--grow", metavar="K", help="A generator parameter that is the number of workers, e.g. streams."
)
@click.option(
    "--events",
    type=click.IntRange(1000, 10**9),
    default=4_000_000,
    show_default=True,
    help="Size of generated input; with --grow, for each worker.",
)
@click.option("--dataset", metavar="ID", help="Input of the catalogue.", **DATASETS)
@click.option("--optimizer", metavar="NAME", help="Who chooses plans: by-stream (the default), ...")
@click.option(
    "--repetitions",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="Fresh processes for everything that is measured; medians count.",
)
@click.option("--calibrate", is_flag=True, help="Measure anew, whatever is kept of before.")
@click.option(
    "--memory-gb-s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="GB/S",
    help="What all cores of a machine read from memory together; otherwise it is no bound.",
)
@click.option(
    "--network-us",
    type=click.FloatRange(min=0),
    default=130.0,
    show_default=True,
    metavar="US",
    help="Latency of a message between machines, one way.",
)
@click.option(
    "--network-gbit-s",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="GBIT/S",
    help="What a machine sends at most.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Of the simulation.")
@click.option(
    "--out",
    type=AbsolutePath(file_okay=False),
    help="Write projection.csv, .json, .svg and .png into this folder.",
)
def project(
    workload: str,
    cores: list[int],
    nodes: list[int],
    params: Sequence[str],
    grow: str | None,
    events: int,
    dataset: str | None,
    optimizer: str | None,
    repetitions: int,
    calibrate: bool,
    memory_gb_s: float | None,
    network_us: float,
    network_gbit_s: float,
    seed: int,
    out: Path | None,
) -> int:
    """Predict the rate of WORKLOAD on more cores and machines than are here.

    Its synchronization plan is simulated, with a worker for each core and with the costs that its
    steps have on this machine, which are measured first, for about a minute, and kept. What the
    simulation says is compared with runs on this machine, with one, two and more workers than
    cores; the error is printed. Predictions are no measurements: they are in no run and no report.

    WORKLOAD is a name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].
    """
    from lab.cli.plan import pairs
    from lab.cli.writing import check_folder, writing
    from lab.project.kept import measurements
    from lab.project.projection import project as predict
    from lab.project.projection import remarks
    from lab.project.said import as_table, written
    from lab.project.subject import Subject
    from lab.project.validation import compare

    if out is not None:
        check_folder(out, "the projection")
    setting = _setting(cores, nodes, network_us, network_gbit_s, memory_gb_s)
    subject = Subject(
        reference=workload,
        events=events,
        params=pairs(params),
        dataset=dataset,
        grow=grow,
        optimizer=optimizer,
    ).checked()
    kept = measurements(
        subject,
        anew=calibrate,
        told=lambda text: click.echo(text, err=True),
        processes=repetitions,
    )
    points = compare(subject, kept.calibration, kept.measured)
    predicted = predict(subject, kept.calibration, setting, seed=seed)
    notes = remarks(predicted, kept.calibration, setting, can_grow=grow is None and dataset is None)
    click.echo(as_table(subject, kept, points, predicted, notes))
    if out is not None:
        with writing("the projection", out):
            paths = written(out, subject, kept, points, predicted, setting, notes)
        for path in paths:
            click.echo(f"wrote {path}")
    return EXIT_OK


def _setting(
    cores: list[int],
    nodes: list[int],
    network_us: float,
    network_gbit_s: float,
    memory_gb_s: float | None,
) -> "Setting":
    from lab.project.projection import Setting
    from lab.project.simulation import Network

    if len(nodes) > 1 and len(cores) > 1:
        raise click.UsageError(
            f"--nodes has {len(nodes)} numbers and --cores has {len(cores)}; with several numbers "
            "of nodes give one number of cores, which each of them has"
        )
    if cores[-1] * nodes[-1] > MOST_WORKERS:
        raise click.UsageError(
            f"{nodes[-1]} nodes of {cores[-1]} cores are {nodes[-1] * cores[-1]} workers; at most "
            f"{MOST_WORKERS} are simulated"
        )
    return Setting(
        cores=cores,
        machines=nodes,
        network=Network(
            latency_ns=network_us * 1e3,
            bytes_per_ns=network_gbit_s / 8,
            header_bytes=HEADER_BYTES,
        ),
        memory_bytes_per_ns=memory_gb_s,
    )


HEADER_BYTES = 78
"""Of a short message: Ethernet's frame with preamble, checksum and gap 38 (IEEE 802.3), IPv4 20
(RFC 791), TCP 20 (RFC 9293)."""
