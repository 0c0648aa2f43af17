"""A sweep of simple_cnn_base against as many runs in PyTorch, one after the other, on the CPU.

Run `python -m benchmarks.sweep_against_pytorch --torch-python PYTHON`, where PYTHON is that of an
environment with torch and NumPy; without the option this Python has to have them. It takes about
four minutes on two cores. Both train as many trials of as few steps, with batches of their own and
the loss of every step recorded, and evaluate 1,000 examples at the end of each; the sweep also
writes its shards. Examples are made up. PyTorch uses all cores for one run at a time, as it does by
default; the producers train one trial a core.

The trials are divided over some turns, in which the two follow one another, so that other work on
the machine disturbs both alike. Both are warm: starting Python is left out, and so is compiling,
which is done once a sweep; the first block, which compiles, is printed by itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Self

import jax

from benchmarks.production import TimedProgram, produce
from benchmarks.settings import Setting, trials_of
from producers.datasets.forms import GREY_28
from producers.devices import configure_devices
from producers.training.mesh import device_mesh
from producers.training.run import Splits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.production import Production

_RUNS = Path(__file__).with_name("pytorch_runs.py")
_HELD_OUT = 1_000


def main() -> None:
    """Prints the ratio for each batch size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch-python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--turns", type=int, default=5, help="that the trials are divided over")
    parser.add_argument("--batch-sizes", default="64")
    parser.add_argument("--examples", type=int, default=768, help="that each trial trains on")
    arguments = parser.parse_args()
    configure_devices()
    with _PyTorch(arguments.torch_python) as pytorch:
        print(f"{arguments.trials} trials, {jax.local_device_count()} devices, {pytorch.about}")
        for batch_size in map(int, arguments.batch_sizes.split(",")):
            steps = max(1, arguments.examples // batch_size)
            sweep = _Sweep(batch_size, steps, arguments.trials // arguments.turns)
            compare(sweep, pytorch, arguments.turns)


class _PyTorch:
    """The process that trains in PyTorch."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, str(_RUNS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        about = self._answer()
        self.about = f"torch {about['torch']} with {about['threads']} threads"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def train(self, runs: int, steps: int, batch_size: int) -> _Took:
        """Trains some runs, one after the other."""
        request = {"runs": runs, "steps": steps, "batch_size": batch_size}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return _Took(**self._answer())

    def _answer(self) -> Any:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            sys.exit("PyTorch could not be run; name a Python that has torch with --torch-python")
        return json.loads(line)


@dataclass(frozen=True)
class _Took:
    """Seconds by the clock, and of all cores of the process."""

    clock: float
    processor: float


class _Sweep:
    """A block of the sweep, with its data and programs."""

    def __init__(self, batch_size: int, steps: int, trials: int) -> None:
        setting = Setting("simple_cnn_base", GREY_28, batch_size)
        self.batch_size, self.steps, self.trials = batch_size, steps, trials
        self._plan = setting.plan(steps)
        self._program = setting.program(TimedProgram, device_mesh())
        training = self._program.put(setting.examples())
        held_out = self._program.put(setting.examples(_HELD_OUT))
        self._splits = Splits(training, held_out, held_out, held_out)

    def train(self) -> tuple[_Took, Production]:
        """Trains a block and writes its shard."""
        started, spent = time.perf_counter(), time.process_time()
        trials = trials_of(self._plan, self.trials)
        evaluations = {self.steps: False}
        took = produce(self._program, self._splits, self._plan, trials, evaluations)
        return _Took(time.perf_counter() - started, time.process_time() - spent), took


def compare(sweep: _Sweep, pytorch: _PyTorch, turns: int) -> None:
    """Trains the trials in turns, and prints how long each took and the ratios."""
    started = time.perf_counter()
    sweep.train()
    first = time.perf_counter() - started
    pytorch.train(1, sweep.steps, sweep.batch_size)
    own, theirs, producer = [], [], []
    for _ in range(turns):
        took, parts = sweep.train()
        own.append(took)
        producer.append((parts.recording + parts.writing) / parts.whole)
        theirs.append(pytorch.train(sweep.trials, sweep.steps, sweep.batch_size))
    clock, cores = ([getattr(each, name) for each in own] for name in ("clock", "processor"))
    print(
        f"\n{turns * sweep.trials} trials of {sweep.steps} steps of batch size {sweep.batch_size}\n"
        f"  producers {sum(clock):8.1f} s (and {first:.1f} s for a first block, which compiles)\n"
        f"  PyTorch   {sum(each.clock for each in theirs):8.1f} s\n"
        f"  PyTorch / producers: {_range([each.clock for each in theirs], clock)}; "
        f"in the time of cores: {_range([each.processor for each in theirs], cores)}\n"
        f"  drawing batches, recording and writing: {median(producer):.1%} of the producers' time",
        flush=True,
    )


def _range(above: Sequence[float], below: Sequence[float]) -> str:
    ratios = [a / b for a, b in zip(above, below, strict=True)]
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


if __name__ == "__main__":
    main()
