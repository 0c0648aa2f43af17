"""Valid shards with made-up numbers, for tests.

    write_shard(
        folder,
        workload="digits/simple_cnn_base/sgd",
        batch_size=64,
        trials=[(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, 0.2]))],
    )

Each row is a mapping of "step" and any columns of the contract, other_metrics being a mapping too;
the columns left out are null.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.core.contract import FOOTER_KEY, OTHER_METRICS, shard_path, shard_schema
from dbtool.core.footer import Footer, Status, Study, Trial, Workload, plain
from dbtool.core.manifest import About
from dbtool.core.rows import Rows
from dbtool.core.writer import ReleaseWriter

Row: TypeAlias = "Mapping[str, Any]"
MadeTrial: TypeAlias = "tuple[int, str, Mapping[str, float], Sequence[Row]]"

RELEASE = "made-up"
DIGITS = "digits/simple_cnn_base/sgd"
LETTERS = "letters/fc_64_64/nesterov_momentum"
WORKLOAD = "made_up/simple_cnn_base/nesterov_momentum"
PRODUCER: dict[str, Any] = {
    "dbtool": "0.1.0",
    "python": "3.11.0",
    "jax": "0.10.2",
    "jaxlib": "0.10.2",
    "flax": "0.12.8",
    "optax": "0.2.8",
    "numpy": "2.4.0",
    "device": "made up",
    "devices": 1,
    "platform": "cpu",
    "git_revision": "0" * 40,
    "batches": "own",
    "created": "2025-01-01T00:00:00Z",
}
SEARCH_SPACE: dict[str, dict[str, Any]] = {
    "learning_rate": {"type": "DOUBLE", "min_value": 1e-4, "max_value": 10.0, "scale": "LOG"},
    "momentum": {"type": "DOUBLE", "min_value": 0.5, "max_value": 0.999, "scale": "LINEAR"},
}


def curve(
    errors: Sequence[float],
    *,
    metric: str = "val_classification_error",
    every: int = 10,
    batch_losses: bool = True,
) -> list[Row]:
    """Rows of one trial: an evaluation of a metric every so many steps from step 0.

    Every step from 1 on has a batch loss, as producers write them, unless told otherwise.
    """
    rows: list[Row] = []
    for step in range((len(errors) - 1) * every + 1):
        row: dict[str, float | None] = {"step": step}
        if batch_losses and step > 0:
            row["batch_cross_entropy_error"] = 2.0 / (1 + step)
        if step % every == 0:
            row[metric] = errors[step // every]
        if len(row) > 1:
            rows.append(row)
    return rows


def reaching(trial_id: int, last: float = 0.1) -> MadeTrial:
    """A complete trial of 21 rows, whose third evaluation is its last."""
    return trial_id, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, last])


def passing(steps: int) -> list[Row]:
    """Rows of a trial that passes its goal at a step, one after the evaluation that missed it."""
    errors = {0: 0.9, steps - 1: 0.5, steps: 0.01}
    return [{"step": at, "val_classification_error": error} for at, error in errors.items()]


def definition(workload: str = WORKLOAD, **changes: Any) -> Workload:
    """A workload; the name's last three parts are data set, model and optimizer.

    The changes replace made-up values; others, such as schedule, stand in the definition of the
    producer, which also repeats those that have a name here.
    """
    *collection, dataset, model, optimizer = workload.split("/")
    values = {
        "workload": workload,
        "collection": "/".join(collection) or None,
        "dataset": dataset,
        "model": model,
        "optimizer": optimizer,
        "sparsity": 0.0,
        "metric": "val_classification_error",
        "goal": 0.1,
        "train_examples": 1000,
        **changes,
    }
    known = {name: values[name] for name in values if name in Workload.__struct_fields__}
    return Workload(**known, definition=values)


def shard_table(trials: Sequence[MadeTrial]) -> pa.Table:
    """The rows of the trials in the given order, in those of the contract's columns that occur."""
    rows = [{"trial_id": trial_id, **row} for trial_id, _, _, rows in trials for row in rows]
    for row in rows:
        metrics = row.get(OTHER_METRICS)
        if metrics is not None:
            text = msgspec.json.encode({name: plain(metrics[name]) for name in sorted(metrics)})
            row[OTHER_METRICS] = text.decode()
    names = {"trial_id", "step"}.union(*rows)
    fields = [field for field in shard_schema() if field.name in names]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def shard_footer(
    trials: Sequence[MadeTrial],
    *,
    workload: str = WORKLOAD,
    producer: Mapping[str, Any] = PRODUCER,
    replicates: bool = False,
    **changes: Any,
) -> Footer:
    """What a shard says of itself.

    The changes replace made-up values of the study, and others are for `definition`. The
    train_steps are the fewest of a COMPLETE trial here. Trials with equal metaparameters have the
    same seed, unless they are replicates.
    """
    steps = {trial_id: int(rows[-1]["step"]) if rows else 0 for trial_id, _, _, rows in trials}
    complete = [steps[trial_id] for trial_id, status, _, _ in trials if status == "COMPLETE"]
    study: dict[str, Any] = {
        "batch_size": 64,
        "train_steps": min(complete, default=0),
        "early_stopping": False,
        "search_space": SEARCH_SPACE,
        "seed": 0,
        "search": None,
    }
    # Equal metaparameters with other seeds would be replicates.
    has_seeds = replicates or len({str(given) for _, _, given, _ in trials}) == len(trials)
    study |= {name: changes.pop(name) for name in study.keys() & changes.keys()}
    return Footer(
        study=Study(workload=definition(workload, **changes), **study),
        trials=tuple(
            Trial(
                trial_id=trial_id,
                status=cast("Status", status),
                steps=steps[trial_id],
                metaparameters={name: plain(value) for name, value in metaparameters.items()},
                seed=1000 + trial_id * has_seeds,
            )
            for trial_id, status, metaparameters, _ in trials
        ),
        producer=dict(producer),
    )


def whole_table(trials: Sequence[MadeTrial]) -> pa.Table:
    """The rows of the trials with all columns of a shard, of the study of `shard_footer`."""
    return Rows(shard_footer(trials)).complete(shard_table(trials)).cast(shard_schema())


def whole_footer(trials: Sequence[MadeTrial]) -> Footer:
    """The footer of `whole_table`, with the numbers of rows."""
    footer = shard_footer(trials)
    counted = [
        msgspec.structs.replace(trial, measurements=len(rows))
        for trial, (*_, rows) in zip(footer.trials, trials, strict=True)
    ]
    return msgspec.structs.replace(footer, trials=tuple(counted))


def write_shard(
    folder: Path, *, trials: Sequence[MadeTrial] | None = None, release: str = RELEASE, **study: Any
) -> Path:
    """Adds a valid shard to a release folder, made where there is none; returns its file.

    Args:
        folder: the release folder.
        trials: (trial_id, status, metaparameters, rows), sorted by trial_id; see `curve`. None: one
            trial, whose only evaluation is 0.9.
        release: the release's name.
        study: for `shard_footer`, such as workload (its name), batch_size, metric or goal.
    """
    if trials is None:
        trials = [(0, "COMPLETE", {}, curve([0.9]))]
    with ReleaseWriter(folder, About(release=release)) as writer:
        shard = writer.write(shard_footer(trials, **study), [shard_table(trials)])
    return folder / shard.path


def write_release(folder: Path, release: str = RELEASE, **about: str) -> Path:
    """Writes a release of one study with one trial; returns its folder."""
    trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, 0.05]))]
    with ReleaseWriter(folder, About(release=release, **about)) as writer:
        writer.write(shard_footer(trials), [shard_table(trials)])
    return folder


def write_digits(folder: Path, release: str = RELEASE, better: float = 0.0) -> Path:
    """Writes two studies of three trials, evaluated at steps 0, 10, 20, 30; the goal is 0.1.

    The errors of the trial that reaches it are better by so much; the last trial diverged.
    """
    slow = {"learning_rate": 0.01, "momentum": 0.5}
    fast = {"learning_rate": 0.1, "momentum": 0.9}
    for batch_size, errors in ((8, [0.9, 0.5, 0.2, 0.05]), (64, [0.9, 0.3, 0.04, 0.03])):
        trials = [
            (0, "COMPLETE", slow, curve([0.9, 0.8, 0.7, 0.6])),
            (1, "COMPLETE", fast, curve([error - better for error in errors])),
            (2, "INFEASIBLE", {"learning_rate": 9.0, "momentum": 0.9}, curve([0.9, math.nan])),
        ]
        write_shard(folder, release=release, workload=DIGITS, batch_size=batch_size, trials=trials)
    return folder


def write_letters(folder: Path, release: str = RELEASE) -> Path:
    """Writes a study of one trial, whose workload has no goal."""
    trials = [(7, "COMPLETE", {"learning_rate": 0.01}, curve([0.9, 0.8]))]
    study: dict[str, Any] = {"workload": LETTERS, "batch_size": 32, "goal": None}
    write_shard(folder, release=release, trials=trials, **study)
    return folder


def write_table(folder: Path, table: pa.Table, footer: bytes, **options: Any) -> Path:
    """Writes a shard that need not be valid under the name of its contents, listed nowhere.

    The footer is a text, which `dbtool.core.footer.encode_footer` makes; the options are Parquet's.
    """
    buffer = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({FOOTER_KEY: footer}), buffer, **options)
    contents = buffer.getvalue().to_pybytes()
    study = msgspec.json.decode(footer)["study"]
    name = study["workload"]["workload"]
    path = folder / shard_path(name, study["batch_size"], hashlib.sha256(contents).hexdigest())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)
    return path
