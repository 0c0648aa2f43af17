"""How fast the producers train every model, against a loop written by hand for it alone.

Run `python -m benchmarks.models` from the checkout (five to ten minutes on two idle cores; fewer
models with `--models`). Examples are made up: the arithmetic does not depend on them. Large models
take small images, short texts and small batches, as a laptop would. Whatever is compared takes
turns, and ratios are medians over the turns. For each model:

- by hand: steps a second of one trial in a loop of flax, optax and JAX alone (`by_hand.py`),
  the faster of two ways to write it: a compiled step called from Python, and a compiled scan;
- one trial: the producers' compiled block with one trial on one device, as a ratio to that;
  `cores` is the same ratio by the time that cores spent, which other programs disturb little;
- machine: trial-steps a second of a block with a trial on every device, as a ratio to by hand;
- producer: what drawing batches, recording, and writing the shard cost, as a share of the
  production of a block that trains for so many seconds (evaluation left out: how often it happens
  is the workload's choice). A shard costs the same few milliseconds however long a block trains,
  so that the share falls as a block gets longer; blocks of a real sweep train for minutes.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import TYPE_CHECKING

import jax

from benchmarks.by_hand import ByHand
from benchmarks.production import TimedProgram, produce
from benchmarks.settings import Setting, block, capacity, trials_of
from benchmarks.timed import Rates, Timed, in_turns, ratio
from producers.datasets.forms import CIFAR_10, GREY_28, ImageForm, TextForm
from producers.devices import configure_devices
from producers.training.block import BlockProgram
from producers.training.mesh import device_mesh
from producers.training.run import Splits

if TYPE_CHECKING:
    from collections.abc import Callable

_IMAGES = ImageForm(64, 64, 3, 1_000, mean=(0.485, 0.456, 0.406), deviation=(0.229, 0.224, 0.225))
_TEXTS = TextForm(vocabulary=4_096, length=32)
SETTINGS = (
    Setting("fc_128_128_128", GREY_28, 64),
    Setting("simple_cnn_base", GREY_28, 32),
    Setting("resnet_8", CIFAR_10, 32),
    Setting("resnet_50", _IMAGES, 8),
    Setting("vgg_11", _IMAGES, 8),
    Setting("transformer_narrow_and_shallow", _TEXTS, 4),
    Setting("transformer_shallow", _TEXTS, 4),
    Setting("transformer_base", _TEXTS, 4),
    Setting("transformer_wide", _TEXTS, 4),
    Setting("lstm", _TEXTS, 4),
)
_WARM_STEPS = 3
# Each call of the compiled block copies the states, which calls of real sweeps share out over more.
_FEWEST_STEPS = 8


def main() -> None:
    """Prints a line a model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", help="names with commas between; all unless given")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--turn-seconds", type=float, default=0.7, help="about how long a turn is")
    parser.add_argument("--production-seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    names = arguments.models.split(",") if arguments.models else None
    configure_devices()
    print(f"{jax.local_device_count()} devices of {jax.local_devices()[0].device_kind}")
    print(
        f"{'':31s}{'batch':>6s}{'by hand':>12s}{'one trial':>11s}{'cores':>7s}{'machine':>9s}"
        f"{'producer':>10s}"
    )
    for setting in SETTINGS:
        if names is None or setting.model in names:
            report(setting, arguments.turns, arguments.turn_seconds, arguments.production_seconds)


def report(setting: Setting, turns: int, turn_seconds: float, production_seconds: float) -> None:
    """Times a model and prints its line."""
    hand, seconds_a_step = _by_hand(setting, turn_seconds)
    steps = int(next(iter(hand.values())).amount)
    one = _block_on(device_mesh(jax.local_devices()[:1]), setting, 1, steps)
    devices = jax.local_device_count()
    program = setting.program(TimedProgram, device_mesh(jax.local_devices()))
    data = program.put(setting.examples())
    advance = block(program, setting, devices, data)
    machine = Timed(devices * steps, lambda: advance(steps))
    rates = in_turns({**hand, "one": one, "machine": machine}, turns)
    best = max((rates[name] for name in hand), key=lambda each: median(each.by_clock))
    share, whole = _production(setting, program, production_seconds, seconds_a_step)
    print(
        f"{setting.model:31s}{setting.batch_size:6d}{median(best.by_clock):10.3g}/s"
        f"{ratio(rates['one'].by_clock, best.by_clock):11.2f}{_cores(rates, hand):7.2f}"
        f"{ratio(rates['machine'].by_clock, best.by_clock):9.2f}{share:9.1%} of {whole:.0f} s",
        flush=True,
    )


def _cores(rates: dict[str, Rates], hand: dict[str, Timed]) -> float:
    """The ratio of one trial to by hand in the time of cores, to the better of the ways by hand."""
    best = max((rates[name] for name in hand), key=lambda each: median(each.by_processor))
    return ratio(rates["one"].by_processor, best.by_processor)


def _by_hand(setting: Setting, turn_seconds: float) -> tuple[dict[str, Timed], float]:
    """The two loops by hand, of as many steps as fill a turn, and about how long a step takes."""
    device = jax.local_devices()[0]
    by_hand = ByHand(setting.model, setting.form, setting.dtype, setting.examples(), device)
    trial = by_hand.step_by_step(setting.batches(_WARM_STEPS))
    seconds = min(_seconds(trial) for _ in range(3)) / _WARM_STEPS
    most = capacity(jax.local_device_count(), setting.batch_size)
    steps = min(max(_FEWEST_STEPS, round(turn_seconds / seconds)), most)
    batches = setting.batches(steps)
    loops = {"step by step": by_hand.step_by_step(batches), "scanned": by_hand.scanned(batches)}
    return {name: Timed(steps, loop) for name, loop in loops.items()}, seconds


def _block_on(mesh: jax.sharding.Mesh, setting: Setting, trials: int, steps: int) -> Timed:
    """The producers' block of some trials, trained for some steps."""
    program = setting.program(BlockProgram, mesh)
    advance = block(program, setting, trials, program.put(setting.examples()))
    return Timed(trials * steps, lambda: advance(steps))


def _production(
    setting: Setting, program: TimedProgram, seconds: float, seconds_a_step: float
) -> tuple[float, float]:
    """The producer's share of a block's production, and the seconds without evaluation."""
    devices = jax.local_device_count()
    training = program.put(setting.examples())
    held_out = program.put(setting.examples(2 * setting.batch_size))
    splits = Splits(training, held_out, held_out, held_out)
    for steps in (1, max(_FEWEST_STEPS, round(seconds / seconds_a_step))):
        plan = setting.plan(steps)
        took = produce(program, splits, plan, trials_of(plan, devices), {steps: True})
    whole = took.whole - took.evaluation
    return (took.recording + took.writing) / whole, whole


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
