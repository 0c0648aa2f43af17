"""How fast blocks of trials train on a GPU or TPU, and their share of its matrix peak.

Run `python -m benchmarks.accelerators` from the checkout on a machine with an accelerator (a few
minutes, most of them for compiling); on a CPU it trains smaller settings and prints their rates
alone. Examples are made up and lie on the device: the arithmetic does not depend on them, and
`benchmarks/streaming.py` is about reading them. For each model:

- trial-steps a second of the compiled block, with all its trials side by side;
- examples (images or texts) a second;
- of peak: three times the operations of the matrix products and convolutions of a forward pass,
  times examples a second, as a share of what the device's matrix units can do in bfloat16
  (`--peak`, in 1e12 operations a second, for a device that is not in the table here). A model in
  float32 cannot reach all of it: its products run at half that rate or less.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from statistics import median

import jax

from benchmarks.settings import Setting, block, capacity
from benchmarks.timed import Timed, in_turns
from producers.datasets.forms import CIFAR_10, GREY_28, IMAGENET, LM1B, ImageForm, TextForm
from producers.devices import configure_devices
from producers.estimate import forward_operations
from producers.training.block import BlockProgram
from producers.training.mesh import device_mesh

# Dense products in bfloat16, in 1e12 operations a second, as the makers' data sheets give them, by
# the first letters of the name that JAX has for the device; the first that fits counts.
_PEAKS = {
    "NVIDIA B200": 2_250.0,
    "NVIDIA H200": 989.4,
    "NVIDIA H100 PCIe": 756.0,
    "NVIDIA H100": 989.4,
    "NVIDIA A100": 312.0,
    "NVIDIA L40S": 362.0,
    "NVIDIA L4": 121.0,
    "NVIDIA A10G": 70.0,
    "NVIDIA A10": 125.0,
    "TPU v4": 275.0,
    "TPU v5 lite": 197.0,
    "TPU v5": 459.0,
    "TPU v6 lite": 918.0,
}


@dataclass(frozen=True)
class Block:
    """A block to time: a setting, its trials on each device, and the steps of a turn."""

    setting: Setting
    trials: int
    steps: int


_ON_ACCELERATORS = (
    Block(Setting("fc_128_128_128", GREY_28, 256), 100, 1_000),
    Block(Setting("simple_cnn_base", GREY_28, 256), 100, 50),
    Block(Setting("resnet_8", CIFAR_10, 256), 100, 50),
    Block(Setting("transformer_shallow", LM1B, 64), 4, 50),
    Block(Setting("transformer_shallow", LM1B, 64, "bfloat16"), 4, 50),
    Block(Setting("resnet_50", IMAGENET, 256, "bfloat16"), 1, 20),
)
_SMALL_IMAGES = ImageForm(64, 64, 3, 1_000)
_ON_CPUS = (
    Block(Setting("fc_128_128_128", GREY_28, 64), 2, 500),
    Block(Setting("simple_cnn_base", GREY_28, 32), 2, 10),
    Block(Setting("resnet_8", CIFAR_10, 32), 2, 10),
    Block(Setting("transformer_shallow", TextForm(4_096, 32), 4), 1, 5),
    Block(Setting("resnet_50", _SMALL_IMAGES, 8, "bfloat16"), 1, 2),
)


def main() -> None:
    """Prints a line a block."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", help="names with commas between; all unless given")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--trials", type=int, help="on each device, instead of each model's")
    parser.add_argument("--batch-size", type=int, help="instead of each model's")
    parser.add_argument("--peak", type=float, help="of a device, in 1e12 operations a second")
    words = parser.parse_args()
    configure_devices()
    device = jax.local_devices()[0]
    peak = words.peak or _peak(device)
    print(f"{jax.local_device_count()} devices of {device.device_kind}, {words.turns} turns")
    print(
        f"{'':34s}{'trials':>7s}{'batch':>6s}{'trial-steps/s':>15s}{'examples/s':>12s}"
        f"{'of peak':>9s}"
    )
    for each in _ON_CPUS if device.platform == "cpu" else _ON_ACCELERATORS:
        setting = each.setting
        if words.models is None or setting.model in words.models.split(","):
            batch_size = words.batch_size or setting.batch_size
            resized = Setting(setting.model, setting.form, batch_size, setting.dtype)
            report(Block(resized, words.trials or each.trials, each.steps), words.turns, peak)


def report(each: Block, turns: int, peak: float | None) -> None:
    """Times a block and prints its line."""
    setting, devices = each.setting, jax.local_device_count()
    trials = each.trials * devices
    program = setting.program(BlockProgram, device_mesh(jax.local_devices()))
    advance = block(program, setting, trials, program.put(setting.examples()))
    steps = min(each.steps, capacity(program.slots(trials), setting.batch_size))
    work = Timed(trials * steps, lambda: advance(steps))
    rate = median(in_turns({"block": work}, turns)["block"].by_clock)
    share = "-"
    if peak is not None:
        used = 3 * forward_operations(setting.model, setting.form, setting.dtype)
        share = f"{rate * setting.batch_size * used / (peak * 1e12 * devices):.1%}"
    print(
        f"{setting.model + ', ' + setting.dtype:34s}{trials:7d}{setting.batch_size:6d}{rate:15,.1f}"
        f"{rate * setting.batch_size:12,.0f}{share:>9s}",
        flush=True,
    )


def _peak(device: jax.Device) -> float | None:
    """What the table says of the device; None where it says nothing."""
    named = (peak for name, peak in _PEAKS.items() if device.device_kind.startswith(name))
    return next(named, None)


if __name__ == "__main__":
    main()
