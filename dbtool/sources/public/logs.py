"""Two repositories of runs a file: modded-nanogpt's optimizers, and wav2vec 2.0 by batch size."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from dbtool.core.footer import Workload
from dbtool.sources.public.files import published_files
from dbtool.sources.public.runs import PublishedRun, RunsSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbtool.sources.base import Addition

_RESULT = re.compile(r"(?:^|/)results/(?:(\d{8}_)?([\w./-]+)/)?([^/]+)\.txt$")
_EVALUATION = re.compile(
    r"^step:(\d+)/(\d+)\s+val_loss:([\d.]+|nan|inf)(?:\s+train_time:([\d.]+)(m?s))?", re.MULTILINE
)
_BATCH_TOKENS = 524_288
_VALUES = re.compile(r"(?:^|/)(train_loss|val_acc|val_loss_contrastive)\.csv$")
_METRICS = {
    "train_loss": "train_contrastive_loss",
    "val_acc": "val_accuracy",
    "val_loss_contrastive": "val_contrastive_loss",
}
_AUDIO_SAMPLES = {"sec": 16_000, "min": 960_000}


class NanogptSource(RunsSource):
    """Optimizers to a validation loss of 3.28; see `RunsSource`."""

    def runs(self, addition: Addition) -> Iterator[PublishedRun]:
        """Yield the runs of one log after the other."""
        for name, found, contents in published_files(self.paths, _RESULT, addition.on_progress):
            runs = list(_runs_in(found, contents.decode(errors="replace")))
            if not runs:
                addition.report.leave_unused("it has no evaluation", name)
            yield from runs


def _runs_in(found: re.Match[str], text: str) -> Iterator[PublishedRun]:
    """Yield the runs of a log; a step that is not larger than the one before begins another."""
    runs: list[list[tuple[str, ...]]] = []
    for line in _EVALUATION.findall(text):
        if not runs or int(line[0]) <= int(runs[-1][-1][0]):
            runs.append([])
        runs[-1].append(line)
    optimizer = (found[2] or "baseline").replace("/", "_")
    workload = Workload(
        workload=f"modded_nanogpt/fineweb/gpt2_124m/{optimizer}",
        collection="modded_nanogpt",
        dataset="fineweb",
        model="gpt2_124m",
        optimizer=optimizer,
        metric="val_cross_entropy_error",
        goal=3.28,
        goal_inclusive=True,
    )
    for number, lines in enumerate(runs):
        scale = {"s": 1.0, "ms": 1e-3}
        yield PublishedRun(
            workload,
            _BATCH_TOKENS,
            f"{found[0].lstrip('/')}{f'#{number + 1}' if number else ''}",
            "COMPLETE",
            {"planned_steps": int(lines[0][1])},
            [int(line[0]) for line in lines],
            {
                "val_cross_entropy_error": [float(line[2]) for line in lines],
                "seconds": [float(line[3] or "nan") * scale.get(line[4], 1) for line in lines],
            },
        )


class Wav2vecSource(RunsSource):
    """Pre-training of wav2vec 2.0 at seven batch sizes; see `RunsSource`.

    A batch size is in samples of audio, 16,000 a second.
    """

    def runs(self, addition: Addition) -> Iterator[PublishedRun]:
        """Yield a run a batch size, after all files were read."""
        values: dict[int, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
        for _, found, contents in published_files(self.paths, _VALUES, addition.on_progress):
            for line in csv.DictReader(contents.decode().splitlines()):
                length, unit = line["batch size"].split()
                batch_size = round(float(length) * _AUDIO_SAMPLES[unit])
                values[batch_size][int(line["step"])][_METRICS[found[1]]] = float(line["value"])
        yield from map(_wav2vec_run, values, values.values())


def _wav2vec_run(batch_size: int, by_step: dict[int, dict[str, float]]) -> PublishedRun:
    steps = sorted(by_step)
    workload = Workload(
        workload="w2v2_batch_size/librispeech/wav2vec_2_base/adamw",
        collection="w2v2_batch_size",
        dataset="librispeech",
        model="wav2vec_2_base",
        optimizer="adamw",
        metric="val_contrastive_loss",
    )
    values = {
        metric: [by_step[step].get(metric, float("nan")) for step in steps]
        for metric in _METRICS.values()
    }
    return PublishedRun(workload, batch_size, f"{batch_size}", "COMPLETE", {}, steps, values)
