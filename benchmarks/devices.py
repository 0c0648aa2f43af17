"""Blocks of trials on eight simulated devices, and on those of two processes, against one device.

Run `python -m benchmarks.devices` from the checkout (three minutes on two idle cores). Simulated
devices share the machine's cores, so none of it can be faster than a device a core: this measures
what dividing a block costs, and that it changes no measurement. All train the same eight trials of
a made-up data set, take turns, and are compared with one device in the same turn; the first turn,
which compiles, is not counted. Of each way to divide them:

- trial-steps a second, and how many times as fast as on one device;
- cores: the same ratio by the time that cores spent, of all processes added up, which other
  programs on the machine disturb little;
- difference: the greatest of |a - b| / (1 + |b|) between its rows, of losses at every step and of
  evaluations, and those of one device. It may be 1e-4; more ends the program with an error.

The two processes find one another as `dbtool produce --distributed` does.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.settings import Setting, trials_of
from benchmarks.timed import Rates, ratio
from producers.datasets.forms import GREY_28, TextForm

if TYPE_CHECKING:
    from producers.training.block_record import BlockRecord

_TRIALS = 8
_TOLERANCE = 1e-4
_SETTINGS = {
    "fc_128_128_128": (Setting("fc_128_128_128", GREY_28, 256), 20),
    "simple_cnn_base": (Setting("simple_cnn_base", GREY_28, 64), 4),
    "transformer_tiny": (Setting("transformer_tiny", TextForm(4_096, 32), 16), 4),
}


@dataclass(frozen=True)
class Layout:
    """How a block is divided.

    Attributes:
        name: for the table.
        processes: that train together.
        devices: of each process.
        devices_a_trial: how many of all devices share each batch.
    """

    name: str
    processes: int
    devices: int
    devices_a_trial: int


_LAYOUTS = (
    Layout("one device", 1, 1, 1),
    Layout("a device a core, trials apart", 1, os.cpu_count() or 1, 1),
    Layout("8 devices, trials apart", 1, 8, 1),
    Layout("8 devices, 4 for a trial", 1, 8, 4),
    Layout("8 devices, all for a trial", 1, 8, 8),
    Layout("2 processes, trials apart", 2, 1, 1),
    Layout("2 processes, both for a trial", 2, 1, 2),
)


def main() -> None:
    """Prints a line a way to divide a block, for each model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default=",".join(_SETTINGS), help="names with commas between")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--process", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.process is not None:
        _train_when_told(words.models, Layout(**json.loads(words.process)))
        return
    for model in words.models.split(","):
        setting, steps = _SETTINGS[model]
        load = os.getloadavg()[0]
        print(
            f"\n{model}, batch size {setting.batch_size}, {_TRIALS} trials of {steps} steps, "
            f"{words.turns} turns; {os.cpu_count()} cores, load {load:.1f}\n"
            f"{'':35s}{'trial-steps/s':>14s}{'faster':>8s}{'cores':>7s}{'difference':>12s}",
            flush=True,
        )
        compare(model, words.turns)


def compare(model: str, turns: int) -> None:
    """Trains a model's block in turns, and prints the lines.

    Raises:
        SystemExit: rows differ by more than they may.
    """
    work = _TRIALS * _SETTINGS[model][1]
    with tempfile.TemporaryDirectory() as folder:
        groups = [_Processes(model, layout, Path(folder)) for layout in _LAYOUTS]
        try:
            for group in groups:
                group.train()
            taken = [[group.train() for group in groups] for _ in range(turns)]
        finally:
            for group in groups:
                group.end()
        rates = [
            Rates([work / clock for clock, _ in each], [work / cores for _, cores in each])
            for each in zip(*taken, strict=True)
        ]
        for group, rate in zip(groups, rates, strict=True):
            difference = _difference(group.rows, groups[0].rows)
            print(
                f"{group.layout.name:35s}{median(rate.by_clock):14,.0f}"
                f"{ratio(rate.by_clock, rates[0].by_clock):8.2f}"
                f"{ratio(rate.by_processor, rates[0].by_processor):7.2f}"
                f"{difference:12.1e}",
                flush=True,
            )
            if difference > _TOLERANCE:
                sys.exit(f"the rows of {group.layout.name} differ by more than {_TOLERANCE}")


class _Processes:
    """The processes of a layout, which train the block each time they are told to."""

    def __init__(self, model: str, layout: Layout, folder: Path) -> None:
        self.layout = layout
        self._folder = folder / layout.name
        self._folder.mkdir()
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{listener.getsockname()[1]}"
        hosts = {
            "JAX_COORDINATOR_ADDRESS": address,
            "JAX_COORDINATOR_BIND_ADDRESS": address,
            "JAX_NUM_PROCESSES": str(layout.processes),
        }
        words = [sys.executable, "-m", "benchmarks.devices", "--models", model]
        self._processes = [
            subprocess.Popen(
                [*words, "--process", json.dumps(layout.__dict__)],
                cwd=self._folder,
                env=os.environ
                | {"PYTHONPATH": str(Path(__file__).parents[1])}
                | (hosts | {"JAX_PROCESS_ID": str(number)} if layout.processes > 1 else {}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(layout.processes)
        ]

    def train(self) -> tuple[float, float]:
        """Trains the block; the seconds by the clock, and of all cores."""
        for process in self._processes:
            print(file=process.stdin, flush=True)
        answers = [_answer(process) for process in self._processes]
        return max(each["clock"] for each in answers), sum(each["cores"] for each in answers)

    def end(self) -> None:
        """Ends the processes, all at once: they wait for one another."""
        for process in self._processes:
            if process.stdin:
                process.stdin.close()
        for process in self._processes:
            process.wait()

    @property
    def rows(self) -> dict[str, np.ndarray]:
        """What the first process measured."""
        return dict(np.load(self._folder / "rows.npz"))


def _answer(process: subprocess.Popen[str]) -> dict[str, float]:
    """The next line of JSON that a process writes; libraries write lines of their own."""
    for line in process.stdout or ():
        if line.startswith("{"):
            answer: dict[str, float] = json.loads(line)
            return answer
    sys.exit("a process that trains has ended; see its words above")


def _train_when_told(model: str, layout: Layout) -> None:
    """What a process does: trains at each line of its input, and says how long it took."""
    import jax

    jax.config.update("jax_num_cpu_devices", layout.devices)
    if layout.processes > 1:
        from producers.devices import join_hosts

        join_hosts()
    from producers.training.block import BlockProgram
    from producers.training.mesh import device_mesh, is_first
    from producers.training.run import Splits, train_block

    setting, steps = _SETTINGS[model]
    program = setting.program(BlockProgram, device_mesh(devices_a_trial=layout.devices_a_trial))
    training, held_out = (program.put(setting.examples(count)) for count in (512, 64))
    splits = Splits(training, held_out, held_out, held_out)
    plan = setting.plan(steps)
    for _ in sys.stdin:
        started, spent = time.perf_counter(), time.process_time()
        record = train_block(
            *(program, splits, trials_of(plan, _TRIALS)),
            batch_size=setting.batch_size,
            evaluations={steps: True},
        )
        clock, cores = time.perf_counter() - started, time.process_time() - spent
        if is_first():
            np.savez("rows", **_columns(record))
        print(json.dumps({"clock": clock, "cores": cores}), flush=True)


def _columns(record: BlockRecord) -> dict[str, Any]:
    (table,) = record.tables(list(range(_TRIALS)))
    return {name: table[name].to_numpy() for name in table.column_names}


def _difference(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """The greatest difference of all columns; infinite where other rows or values are there."""
    if found.keys() != expected.keys():
        return float("inf")
    return max(_of_column(values, expected[name]) for name, values in found.items())


def _of_column(found: np.ndarray, expected: np.ndarray) -> float:
    if found.shape != expected.shape or (np.isnan(found) != np.isnan(expected)).any():
        return float("inf")
    apart = np.abs(found.astype(np.float64) - expected) / (1 + np.abs(expected))
    return float(np.nanmax(apart, initial=0.0))


if __name__ == "__main__":
    main()
