"""B23 and B27: what points of a submitted sweep cost, against what is expected of them and against the desk."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Row, alone, process
from gcexp.data.fetch import DATA_VARIABLE
from gcexp.errors import UserError
from gcexp.run.datasets import prepared_file
from gcexp.run.run import Run
from gcexp.submission import Point, estimates, measure_points

CLOCKS = (
    "scheme=cgc n=12 s=2 delay=pareto iterations=1000 seeds=5",
    "scheme=cgc n=120 s=7 delay=pareto iterations=200 seeds=20",
    "scheme=uncoded n=600 delay=ec2_like iterations=1000 seeds=5",
    "scheme=sgc n=60 s=5 delay=markov iterations=1000 seeds=10",
    "scheme=gc_dc n=60 s=3 delay=markov iterations=400 seeds=10",
    "scheme=spare n=60 s=3 delay=pareto iterations=200 seeds=5",
)
_LEARNS = "scheme=forget n=30 s=3 delay=pareto seeds=2"
TRAININGS = (
    f"{_LEARNS} task=digits_mlp iterations=200",
    f"{_LEARNS} task=access_rows_logistic iterations=200",
    f"{_LEARNS} task=amazon_logistic iterations=100",
    f"{_LEARNS} task=mnist_mlp iterations=12",
)


def second_point(typed: str, trains: bool, verify: bool) -> tuple[float, float]:
    """CPU seconds of a point that is not the first of its process, and what it was expected to take."""
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            run = Run.of(typed.split(), trains=trains)
            if trains:
                prepared_file(run.dataset, run.config["data_dir"])
            seconds = 0.0
            for name in ("first", "second"):
                point = Point(typed.split(), name, "seeds", train=trains, verify=verify)
                start = time.process_time()
                measure_points([point], _refuse)
                seconds = time.process_time() - start
            (cost,) = estimates([(run, point)])
        finally:
            os.chdir(before)
    return seconds, cost.cpu_s - cost.start_s


def _refuse(point: Point, error: Exception) -> None:
    """A point that fails ends the benchmark."""
    raise error


def b23() -> Iterator[Row]:
    """B23: a point of a submitted sweep, measured in a process that has started, against its rates of ``costs.csv``.

    Floor: what it was expected to take. The bar is a factor of two to either side. MNIST and Amazon's data come from
    the folder `GCEXP_DATA`, or are downloaded; where neither is possible their lines are left out.
    """
    folder = os.environ.get(DATA_VARIABLE)
    place = f" data_dir={Path(folder).resolve()}" if folder else ""
    cases = [(typed, False, False) for typed in CLOCKS]
    cases += [(typed + place, True, verify) for typed in TRAININGS for verify in (False, True)]
    for typed, trains, verify in cases:
        try:
            _, (seconds, expected) = alone(second_point, typed, trains, verify)
        except UserError as error:
            if "could not be downloaded" in str(error):
                continue
            raise
        holds = expected / 2 <= seconds <= 2 * expected
        work = typed.removesuffix(place)
        if verify:
            work += ", verified"
        yield Row("B23", work, seconds, "half to twice as expected", holds=holds, floor=expected)


def b27() -> Iterator[Row]:
    """B27: 9860 points of 100 iterations as jobs of this machine, with Snakemake, and the same bytes.

    Floor: the same sweep in one process.
    """
    shapes = ",".join(f"{1.2 + i / 20:.2f}" for i in range(58))
    points = (
        "scheme=cgc,frc,bgc,sgc,uncoded",
        "s=range(1,41)",
        "n=60",
        "delay=pareto",
        f"delay.shape={shapes}",
    )
    command = ("gcexp", "run", "-m", *points, "seeds=3", "iterations=100", "--format", "csv")
    with TemporaryDirectory() as folder:
        desk = process(*command, folder=Path(folder))
        jobs = process(*command, "--submit", "default", folder=Path(folder))
    lines = [spent.output.splitlines()[: 1 + 9860] for spent in (desk, jobs)]
    told = {"holds": lines[0] == lines[1], "floor": desk.cpu}
    yield Row(
        "B27", "9860 points of 100 iterations as jobs, CPU", jobs.cpu, "<= 1.3 x desk", 1.3 * desk.cpu, **told
    )
