"""Which held-out examples, pixels and initial weights agree with the published steps to result.

Trains a network with every combination of them by equal searches, the trials of a seed in
lockstep, and writes a JSON line a seed: the steps to the goals, or null where the budget ended.

    python -m benchmarks.protocol_settings --model fc_128_128_128 --batch-size 64 \
        --rates 0.02 1 16 --goals 0.03 --steps 6000 --out settings.jsonl

With `--shared-training` one network is trained on none of the three held-out sets and read on all.
`python -m benchmarks.protocol_settings --table settings.jsonl` prints the medians over the seeds, a
row a combination. docs/measured.md tells what came of it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

SPLITS = ("random", "first", "last")
PIXELS = ("unit", "standardised")
WEIGHTS = ("lecun", "he", "glorot")


@dataclass(frozen=True)
class Setting:
    """One combination: the split, what models see of pixels, and the initial weights."""

    split: str
    pixels: str
    weights: str


def held_out(split: Any, examples: int) -> np.ndarray:
    """The numbers of the official training examples that are held out."""
    from producers.datasets.split import HeldOut, split_order

    return split_order("mnist", examples, HeldOut(split), examples)[0]


def official(dataset: str) -> tuple[np.ndarray, np.ndarray]:
    """The official training images and labels in their order."""
    from producers.datasets.mnist.images import parse_idx
    from producers.datasets.mnist.locate import SOURCES, locate

    source = SOURCES[dataset]
    files = locate(source)
    images, labels = (files[file.name] for file in source.files[:2])
    return parse_idx(images.content, images.path), parse_idx(labels.content, labels.path)


def rescaled(parameters: Any, weights: str) -> Any:
    """LeCun-normal kernels of trials [trials, ..., in, out], scaled to other initial weights."""
    import jax

    def scale(path: Any, array: Any) -> Any:
        if "kernel" not in jax.tree_util.keystr(path) or weights == "lecun":
            return array
        *window, inputs, outputs = array.shape[1:]
        positions = math.prod(window)
        fan_in, fan_out = positions * inputs, positions * outputs
        gain = 2.0 if weights == "he" else 2 * fan_in / (fan_in + fan_out)
        return array * math.sqrt(gain)

    return jax.tree_util.tree_map_with_path(scale, parameters)


class Search:
    """The trials of one setting: every rate with every seed, side by side."""

    def __init__(self, options: argparse.Namespace, setting: Setting) -> None:
        from producers.datasets.forms import GREY_28
        from producers.datasets.split import Split
        from producers.devices import lanes
        from producers.models.registry import model_definition
        from producers.training.block import BlockProgram
        from producers.training.mesh import device_mesh
        from producers.training.step import trainer

        images, labels = official(options.dataset)
        splits = SPLITS if options.shared_training else (setting.split,)
        sets = {split: held_out(split, len(images)) for split in splits}
        trained = np.setdiff1d(np.arange(len(images)), np.concatenate(list(sets.values())))
        form = GREY_28
        if setting.pixels == "standardised":
            pixels = images[trained] / np.float32(255)
            form = replace(form, mean=(float(pixels.mean()),), deviation=(float(pixels.std()),))
        self.options, self.setting = options, setting
        self.program = BlockProgram(
            trainer(options.model, options.optimizer, "constant", form),
            device_mesh(devices_a_trial=1),
            lanes=lanes(),
            shared_batches=False,
            evaluation_batch=model_definition(options.model).evaluation_batch,
        )
        self.train = self.program.put(Split(images[trained], labels[trained]))
        self.validation = {
            name: self.program.put(Split(images[numbers], labels[numbers]))
            for name, numbers in sets.items()
        }

    def run(self) -> list[dict[str, Any]]:
        """A row a seed and held-out set."""
        from producers.training.batches import IndexDraw
        from producers.training.block_record import Slots
        from producers.training.mesh import on_host
        from producers.training.run import evaluated
        from producers.workloads.definition import EvaluationRule

        options = self.options
        low, high, count = options.rates
        rates = np.geomspace(low, high, int(count))
        trials = list(itertools.product(range(options.seeds), range(len(rates))))
        seed_of = np.array([seed for seed, _ in trials])
        rate_of = np.array([rates[rate] for _, rate in trials])
        momentum_of = np.full(len(trials), options.momentum)
        slots = Slots(len(trials), self.program.slots)
        states = self.program.start(seed_of[slots.trial].astype(np.uint32))
        states = states._replace(parameters=rescaled(states.parameters, self.setting.weights))
        draw = IndexDraw(
            self.program, [int(s) for s in seed_of], len(self.train), options.batch_size
        )
        found: dict[tuple[int, str, float], tuple[int, float]] = {}
        wanted = {
            seed: {(seed, split, goal) for split in self.validation for goal in options.goals}
            for seed in range(options.seeds)
        }
        best: dict[tuple[int, str], float] = {}
        step = 0
        rule = EvaluationRule(options.per_doubling, examples_between=options.evaluate_every)
        for target in rule.schedule(options.steps, options.batch_size):
            while step < target and slots.alive.any():
                steps = min(draw.capacity(len(slots.trial)), target - step)
                states, losses = self.program.advance(
                    states,
                    {
                        "learning_rate": rate_of[slots.trial].astype(np.float32),
                        "momentum": momentum_of[slots.trial].astype(np.float32),
                    },
                    slots.alive,
                    draw(slots.trial, slots.alive, step, steps),
                    steps,
                    self.train,
                )
                diverged = ~np.isfinite(on_host(losses)[:, :steps]).all(1) & slots.alive
                slots.stop(slots.trial[diverged])
                step += steps
            for split, examples in self.validation.items():
                metrics = evaluated(self.program, states, slots.alive, examples)
                errors = np.where(slots.alive, metrics["classification_error"], np.inf)
                for seed in range(options.seeds):
                    own = np.where(seed_of[slots.trial] == seed, errors, np.inf)
                    place = int(own.argmin())
                    best[seed, split] = min(best.get((seed, split), 1.0), float(own[place]))
                    for goal in options.goals:
                        if own[place] < goal and (seed, split, goal) not in found:
                            found[seed, split, goal] = step, float(rate_of[slots.trial[place]])
            done = [seed for seed, keys in wanted.items() if keys <= found.keys()]
            slots.stop(np.flatnonzero(np.isin(seed_of, done)))
            if not slots.alive.any():
                break
            order = slots.rearranged(self.program.devices_of_trials)
            if order is not None:
                states = self.program.kept(states, order)
        return [
            {
                "dataset": options.dataset,
                "model": options.model,
                "optimizer": options.optimizer,
                "momentum": options.momentum,
                "batch_size": options.batch_size,
                "split": split,
                "pixels": self.setting.pixels,
                "weights": self.setting.weights,
                "shared_training": options.shared_training,
                "seed": seed,
                "goal": goal,
                "steps": found.get((seed, split, goal), (None, None))[0],
                "learning_rate": found.get((seed, split, goal), (None, None))[1],
                "rates": [low, high, int(count)],
                "best": best[seed, split],
                "trained": step,
            }
            for seed in range(options.seeds)
            for split in self.validation
            for goal in options.goals
        ]


def print_table(path: Path) -> None:
    """Prints the median steps to each goal over the seeds, a row a combination."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    found: dict[tuple[str, ...], dict[tuple[Any, ...], list[float]]] = {}
    for row in rows:
        combination = row["split"], row["pixels"], row["weights"]
        column = row["dataset"], row["model"], row["batch_size"], row["goal"]
        steps = math.inf if row["steps"] is None else row["steps"]
        found.setdefault(combination, {}).setdefault(column, []).append(steps)
    columns = sorted({column for of_row in found.values() for column in of_row})
    titles = [f"{data} {model} {size}: {goal}" for data, model, size, goal in columns]
    print(f"| held out | pixels | weights | {' | '.join(titles)} |")
    print(f"| --- | --- | --- |{' ---: |' * len(columns)}")
    for names, of_row in sorted(found.items()):
        cells = [of_row.get(column) for column in columns]
        medians = ["" if cell is None else f"{np.median(cell):.0f}" for cell in cells]
        print(f"| {' | '.join((*names, *medians))} |".replace("inf", "not"))


def main() -> None:
    """Runs every combination, and appends what came of it to the output."""
    from producers.devices import configure_devices

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--model", default="fc_128_128_128")
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rates", type=float, nargs=3, default=(0.02, 1.0, 16))
    parser.add_argument("--goals", type=float, nargs="+", default=(0.03,))
    parser.add_argument("--steps", type=int, default=6_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--splits", nargs="+", default=SPLITS)
    parser.add_argument("--pixels", nargs="+", default=PIXELS)
    parser.add_argument("--weights", nargs="+", default=WEIGHTS)
    parser.add_argument("--evaluate-every", type=int, default=2_000)
    parser.add_argument("--per-doubling", type=int, default=16)
    parser.add_argument("--shared-training", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("settings.jsonl"))
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if options.table:
        print_table(options.table)
        return
    configure_devices()
    splits = ["all"] if options.shared_training else options.splits
    for weights, pixels, split in itertools.product(options.weights, options.pixels, splits):
        started = time.monotonic()
        rows = Search(options, Setting(split, pixels, weights)).run()
        seconds = round(time.monotonic() - started, 1)
        with options.out.open("a") as file:
            file.writelines(json.dumps(row | {"seconds": seconds}) + "\n" for row in rows)


if __name__ == "__main__":
    main()
