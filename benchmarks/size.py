"""What 10^7, 10^8 and 10^9 measurements cost: time and memory of each command, and how they grow.

Run `python -m benchmarks.size --out FOLDER --rows 1e7 1e8 1e9`. It writes releases of made-up
numbers, as sweeps write them: a loss at every step, an evaluation at every hundredth, 100 trials of
10,000 steps a study, 10 batch sizes a workload, and as many workloads as make so many rows.
Releases that lie there already are asked again. Each command is a process of its own; memory is
the most that it held. The growth is the exponent of the rows, between the two largest sizes.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dbtool.core.footer import Footer, Study, Trial
from dbtool.core.manifest import MANIFEST, About, read_manifest
from dbtool.core.writer import ReleaseWriter
from tests.support.made_up import PRODUCER, definition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TRIALS = 100
STEPS = 10_000
EVERY = 100
BATCH_SIZES = tuple(2**exponent for exponent in range(1, 11))
GOAL = 0.05
RELEASE = "made_up"
_LOSS_BITS = 8


@dataclass(frozen=True)
class Cost:
    """What a command took.

    Attributes:
        seconds: that passed.
        megabytes: that its process held at most.
    """

    seconds: float
    megabytes: float


def main() -> None:
    """Writes the releases that are missing, and prints a row a command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder for the releases")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e7, 1e8, 1e9])
    words = parser.parse_args()
    costs = {}
    for rows in words.rows:
        folder = words.out / f"rows-{rows:.0e}"
        workloads = max(1, round(rows / (TRIALS * (STEPS + 1) * len(BATCH_SIZES))))
        _write(folder, workloads)
        costs[rows] = _asked(folder, words.out / "scratch")
    _print(costs)


def _print(costs: Mapping[float, Mapping[str, Cost]]) -> None:
    """Prints seconds and memory of each command at each size, and how they grow."""
    smaller, larger = [min(costs), *sorted(costs)][-2:]
    heads = "".join(f"{f'{rows:.0e}':>18s}" for rows in costs)
    print(f"{'measurements':36s}{heads}{'growth':>9s}")
    for name in costs[larger]:
        each = [costs[rows][name] for rows in costs]
        cells = "".join(f"{cost.seconds:9.2f} s{cost.megabytes:5,.0f} MB" for cost in each)
        ratio = costs[larger][name].seconds / costs[smaller][name].seconds
        growth = f"{math.log(ratio, larger / smaller):9.2f}" if larger > smaller else ""
        print(f"{name:36s}{cells}{growth}")


def _write(folder: Path, workloads: int) -> None:
    """Writes a release of so many workloads, unless it is there."""
    if (folder / MANIFEST).exists() and len(read_manifest(folder).shards) >= workloads * len(
        BATCH_SIZES
    ):
        return
    started = time.perf_counter()
    with ReleaseWriter(folder, About(release=RELEASE, licence="CC0-1.0")):
        pass
    cores = len(os.sched_getaffinity(0))
    # Polars' threads do not survive a fork.
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        shares = [range(first, workloads, cores) for first in range(cores)]
        list(pool.map(_write_workloads, [folder] * cores, shares))
    manifest = read_manifest(folder)
    rows = sum(file.rows or 0 for file in manifest.shards)
    size = sum(file.bytes for file in manifest.files)
    print(
        f"wrote {rows:,} made-up measurements, {size / rows:.2f} bytes each, in "
        f"{time.perf_counter() - started:.0f} s",
        flush=True,
    )


def _write_workloads(folder: Path, numbers: Sequence[int]) -> None:
    """Writes all studies of some workloads."""
    with ReleaseWriter(folder, About(release=RELEASE, licence="CC0-1.0")) as writer:
        for number in numbers:
            for batch_size in BATCH_SIZES:
                write_study(writer, f"made_up/network_{number}/sgd", batch_size)


def write_study(writer: ReleaseWriter, workload: str, batch_size: int) -> None:
    """Writes a study of made-up curves that fall faster at larger batches, up to a point."""
    random = np.random.default_rng([batch_size, *workload.encode()])
    rates = 10 ** random.uniform(-3, 0, TRIALS)
    pace = STEPS / 40 * (1 + 64 / batch_size) * (1 + np.abs(np.log10(rates) + 1.5))
    trials = tuple(
        Trial(
            trial_id=number,
            status="COMPLETE",
            steps=STEPS,
            measurements=STEPS + 1,
            metaparameters={"learning_rate": float(rate)},
            seed=number,
        )
        for number, rate in enumerate(rates)
    )
    study = Study(
        workload=definition(workload, goal=GOAL, train_examples=50_000),
        batch_size=batch_size,
        train_steps=STEPS,
        early_stopping=False,
        search_space={
            "learning_rate": {
                "type": "DOUBLE",
                "min_value": 1e-3,
                "max_value": 1.0,
                "scale": "LOG_SCALE",
            }
        },
        seed=0,
    )
    footer = Footer(study=study, trials=trials, producer=PRODUCER)
    writer.write(footer, [_rows(number, each, random) for number, each in enumerate(pace)])


def _rows(number: int, pace: float, random: np.random.Generator) -> pa.Table:
    """A trial's rows: losses with 8 bits of mantissa, as publishing keeps them, and evaluations."""
    steps = np.arange(STEPS + 1)
    clean = 0.02 + 2.3 * np.exp(-steps / pace)
    losses = (clean * random.lognormal(0, 0.3, STEPS + 1)).astype(np.float32)
    dropped = np.uint32(23 - _LOSS_BITS)
    losses = ((losses.view(np.uint32) >> dropped) << dropped).view(np.float32)
    errors = np.round(random.binomial(10_000, np.clip(clean / 3, 0, 1)) / 10_000, 4)
    between = steps % EVERY != 0
    return pa.table(
        {
            "trial_id": pa.array(np.full(STEPS + 1, number, np.int32)),
            "step": pa.array(steps),
            "batch_cross_entropy_error": pa.array(losses, mask=steps == 0),
            "val_cross_entropy_error": pa.array(np.round(clean, 4), mask=between),
            "val_classification_error": pa.array(errors, mask=between),
        }
    )


def _asked(folder: Path, scratch: Path) -> dict[str, Cost]:
    """What each command takes of a release."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    workload, size = "made_up/network_0/sgd", BATCH_SIZES[5]
    study = [f"-pworkload={workload}", f"-pbatch_size={size}"]
    every = "SELECT count(steps) FROM steps_to_result(NULL, NULL, NULL, NULL, 100)"
    curve = (
        "SELECT step, batch_cross_entropy_error FROM measurements "
        "WHERE workload = $workload AND batch_size = $batch_size"
    )
    db = ["--db", str(folder)]
    with ReleaseWriter(scratch / "new", About(release=RELEASE, licence="CC0-1.0")) as writer:
        write_study(writer, f"made_up/network_{time.time_ns()}/sgd", size)
    commands = {
        "open it": ["releases", *db],
        "steps to result of one workload": ["steps", workload, *db],
        "scaling of one workload": ["scaling", workload, *db],
        "steps to result of all workloads": ["sql", every, *db],
        "one study's curves, as a file": ["sql", curve, *study, "--format", "parquet", *db],
        "plot the steps of one workload": ["plot", "steps", "--workload", workload, *db],
        "write the index anew": ["index", str(folder)],
        "verify": ["verify", str(folder)],
        "add a study": ["ingest", str(scratch / "new"), *db],
    }
    costs = {name: _run(words, scratch) for name, words in commands.items()}
    shutil.rmtree(scratch)
    return costs


def _run(words: Sequence[str], scratch: Path) -> Cost:
    """Runs dbtool in a process of its own."""
    started = time.perf_counter()
    with (scratch / "printed").open("wb") as printed, (scratch / "said").open("wb") as said:
        command = [sys.executable, "-m", "dbtool", *words]
        process = subprocess.Popen(command, stdout=printed, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"dbtool {' '.join(words)}: {(scratch / 'said').read_text()}")
    return Cost(seconds, used.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
