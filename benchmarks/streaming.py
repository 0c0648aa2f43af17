"""The share of time that training waits for examples that are read from files.

Run `python -m benchmarks.streaming` from the checkout (about two minutes on two cores, which then
read and train by turns). The files are made up, in the native formats and of the usual size: JPEG
images of 500x375 pixels with random crops and flips, as ImageNet has them, and sentences, as LM1B
has them. On a CPU images are scaled to 64x64 pixels and batches are small; on an accelerator
they have the sizes of the published workloads. For each:

- steps a second of one trial on every device;
- waiting: the share of the time that training waits for examples, once it has begun;
- reading: examples a second that one thread prepares; training has one for each core;
- the wait before the first step.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import numpy as np
from PIL import Image

from benchmarks.by_hand import LEARNING_RATE, MOMENTUM
from benchmarks.settings import Setting
from producers.cli.speed import hearing_of_waits
from producers.datasets.forms import IMAGENET, LM1B, ImageForm, TextForm
from producers.datasets.registry import load_dataset, write_made_up
from producers.datasets.split import Split
from producers.devices import configure_devices
from producers.training.block import BlockProgram
from producers.training.mesh import device_mesh
from producers.training.stream import StreamedDraw

_IMAGES_A_CLASS = 64
_CLASSES = 4
_SENTENCES = 20_000
_VOCABULARY = 300


@dataclass(frozen=True)
class Streamed:
    """A data set, what trains on it, and the steps of a call and in all."""

    source: str
    setting: Setting
    steps_a_call: int
    steps: int


_ON_CPUS = (
    Streamed("imagenet", Setting("resnet_50", replace(IMAGENET, height=64, width=64), 8), 4, 24),
    Streamed("lm1b", Setting("transformer_shallow", TextForm(_VOCABULARY, 32), 16), 8, 48),
)
_ON_ACCELERATORS = (
    Streamed("imagenet", Setting("resnet_50", IMAGENET, 256, "bfloat16"), 3, 60),
    Streamed(
        "lm1b",
        Setting("transformer_shallow", replace(LM1B, vocabulary=_VOCABULARY), 256, "bfloat16"),
        200,
        2_000,
    ),
)


def main() -> None:
    """Prints a line a data set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", help="imagenet or lm1b; both unless given")
    words = parser.parse_args()
    configure_devices()
    device = jax.local_devices()[0]
    print(f"{jax.local_device_count()} devices of {device.device_kind}")
    print(
        f"{'':30s}{'batch':>6s}{'steps/s':>10s}{'waiting':>9s}{'reading':>12s}{'first wait':>12s}"
    )
    for each in _ON_CPUS if device.platform == "cpu" else _ON_ACCELERATORS:
        if words.sources in {None, each.source}:
            with tempfile.TemporaryDirectory() as folder:
                report(each, Path(folder))


def report(each: Streamed, folder: Path) -> None:
    """Trains on a data set and prints its line."""
    form = each.setting.form
    _write(each.source, folder)
    data = load_dataset(each.source, form=form, folder=folder)
    if isinstance(data.train, Split):
        raise TypeError(f"{each.source} is not read when needed")
    setting = replace(each.setting, form=data.form)
    program = setting.program(BlockProgram, device_mesh(jax.local_devices()))
    draw = StreamedDraw(
        program,
        data.train,
        range(jax.local_device_count()),
        batch_size=setting.batch_size,
        augmentation=isinstance(form, ImageForm),
        targets=range(each.steps_a_call, each.steps + 1, each.steps_a_call),
    )
    first, seconds, waited = _train(program, draw, each)
    started = time.perf_counter()
    data.train.read(np.arange(len(data.train))[: 4 * setting.batch_size], None)
    reading = 4 * setting.batch_size / (time.perf_counter() - started)
    rate = jax.local_device_count() * (each.steps - 2 * each.steps_a_call) / seconds
    print(
        f"{each.source + ', ' + setting.model:30s}{setting.batch_size:6d}{rate:10.3g}"
        f"{waited / seconds:9.1%}{reading:10,.0f}/s{first:10.1f} s",
        flush=True,
    )


def _train(program: BlockProgram, draw: StreamedDraw, each: Streamed) -> tuple[float, float, float]:
    """Trains a trial on every device.

    Returns:
        The seconds waited before the first step; and the seconds in all and those waited from the
        third call on: the first compiles, and the second finds examples that were read meanwhile.
    """
    places = np.arange(jax.local_device_count())
    alive = np.ones(len(places), bool)
    rates = {
        "learning_rate": np.full(len(places), LEARNING_RATE, np.float32),
        "momentum": np.full(len(places), MOMENTUM, np.float32),
    }
    states = program.start(places.astype(np.uint32))
    started, waits = 0.0, list[float]()
    with hearing_of_waits(waits.append):
        for call, step in enumerate(range(0, each.steps, each.steps_a_call)):
            if call == 2:
                started = time.perf_counter()
            batches = draw(places, alive, step, each.steps_a_call)
            states, losses = program.advance(states, rates, alive, batches, each.steps_a_call, None)
            jax.block_until_ready((states, losses))
    # One part a call: batches of these settings are far from what hosts hardly hold.
    return waits[0], time.perf_counter() - started, sum(waits[2:])


def _write(source: str, folder: Path) -> None:
    """Writes made-up files of the usual size, in the native format."""
    write_made_up(source, folder)
    random = np.random.default_rng(0)
    if source == "lm1b":
        words = (folder / "training-monolingual.tokenized.shuffled").glob("news.en-*")
        for path in words:
            lines = path.read_text().splitlines()
            # Sentences of about the usual 25 words.
            chosen = random.integers(0, len(lines), (_SENTENCES, 3))
            path.write_text("\n".join(" ".join(lines[i] for i in row) for row in chosen) + "\n")
        return
    for name in sorted(path for path in (folder / "train").iterdir())[:_CLASSES]:
        for number in range(_IMAGES_A_CLASS):
            # Noise at a sixteenth of the size is about as long to decode as a photograph.
            noise = Image.fromarray(random.integers(0, 256, (24, 32, 3), dtype=np.uint8))
            scaled = noise.resize((500, 375), Image.Resampling.BICUBIC)
            scaled.save(name / f"{name.name}_{number}.JPEG", quality=90)


if __name__ == "__main__":
    main()
