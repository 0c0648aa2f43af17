"""The text files of trainers: Hugging Face, Lightning, Keras, levanter, and lines of any form."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from dbtool.core.errors import UsageError
from dbtool.core.walk import entries, is_file
from dbtool.sources.logs import log
from dbtool.sources.logs.log import METRIC, STEP, VALUE, LoggedRun
from dbtool.sources.numbers import whole_number
from dbtool.sources.tables import words
from dbtool.store.table_files import Position, shown
from dbtool.store.texts import EMPTY, LINE, read_document, read_parts

_TEXTS = (".log", ".txt", ".out", ".err")
_STATE = "trainer_state.json"
_MAX_STEPS = "max_steps"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
# Means over the whole training, and a schedule; not measurements of a step.
_NOT_METRICS = {"step", "epoch", "learning_rate", "train_loss", "total_flos"}
_HPARAMS = "hparams.yaml"
_EPOCH = "epoch"
_EPOCHS_ALONE = re.compile(rb"epoch[,;\t](?!.*\bstep\b)")
_CUT = "the last line has no line break: a number at its end may be cut off, and is left out"
_JSON_LOGGER = '{"tracker": "json_logger"'
# Blanks that pad a number match once, as those of texts do, so that many take no longer.
_NUMBER = (
    r"\s*+([-+]?\d\.#[A-Z]+\d*|[-+]?(?:\d+(?:,\d{3})*(?:\.\d*)?|\.\d+)"
    r"(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)\b)"
)


def is_huggingface(path: Path) -> bool:
    """Return whether a file is the last state of a run; a later one repeats those before it."""
    return path.name == _STATE and path.parent == _latest(_run_of(path))


def is_metric(name: str) -> bool:
    """Return whether what Hugging Face's Trainer logs under a name is measured at its step."""
    return name not in _NOT_METRICS and not name.endswith(("_runtime", "_per_second"))


def _run_of(path: Path) -> Path:
    """Return the folder of a run, which may have checkpoints."""
    inside = _CHECKPOINT.fullmatch(path.parent.name)
    return path.parent.parent if inside else path.parent


def _latest(folder: Path) -> Path:
    """Return the folder of a run's last state: its own, or that of a later checkpoint."""
    numbers = (_CHECKPOINT.fullmatch(entry.name) for entry in entries(folder))
    steps = sorted((int(match[1]) for match in numbers if match), reverse=True)
    there = [step for step in steps if is_file(folder / f"checkpoint-{step}" / _STATE)]
    if not there:
        return folder
    # A run that went on may have kept its own state of before.
    own = folder / _STATE
    state = log.parse(log.content(own), own) if is_file(own) else {"global_step": "-1"}
    at = whole_number(str(state.get("global_step"))) or 0
    return folder if at >= there[0] else folder / f"checkpoint-{there[0]}"


def read_huggingface(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a `trainer_state.json`; its steps count updates."""
    state = log.parse(log.content(path), path)
    history = state.get("log_history")
    if not isinstance(history, list):
        raise Position(path, 0).error(None, "it has no log_history, as the Trainer writes it")
    rows = (
        (number, entry["step"], name, value)
        for number, entry in enumerate(history, start=1)
        if isinstance(entry, dict) and "step" in entry
        for name, value in log.flat(entry, "/").items()
        if is_metric(name)
    )
    about = {_MAX_STEPS: str(state[_MAX_STEPS])} if _MAX_STEPS in state else {}
    yield LoggedRun(_run_of(path), log.long_rows(rows), about=about)


def is_lightning(path: Path) -> bool:
    """Return whether a file is a CSV of metrics with hyperparameters beside it."""
    return path.name == "metrics.csv" and has_hparams(path.parent)


def read_lightning(path: Path) -> Iterator[LoggedRun]:
    """Yield the run that PyTorch Lightning's `CSVLogger` wrote into a folder."""
    yield LoggedRun(path.parent, _csv_rows(path, STEP), hparams(path.parent), of_batches)


def has_hparams(folder: Path) -> bool:
    """Return whether Lightning wrote its hyperparameters into a folder."""
    return is_file(folder / _HPARAMS)


def hparams(folder: Path) -> Mapping[str, str]:
    """Return Lightning's hyperparameters in a folder; empty where there are none."""
    path = folder / _HPARAMS
    # A run without hyperparameters has the object {}, or an empty file.
    there = has_hparams(folder) and log.content(path).strip(b"{} \n")
    return read_document(path) if there else {}


def of_batches(rows: pl.DataFrame, run: pl.DataFrame) -> pl.DataFrame:
    """Return rows of Lightning, of a run with those, with the updates before each as their steps.

    Rows of training and validation have the number of their batch, from 0, and are logged after its
    update. A test, or a validation before or after the training, has the number of all updates.
    """
    batches = _batches(run)
    splits = {name: words.split_of(name) for name in rows[METRIC].unique()}
    split = pl.col(METRIC).replace_strict(splits, return_dtype=pl.String)
    batch = pl.col(STEP).cast(pl.Int64, strict=False)
    apart = (split == "val") & batch.is_in(list(batches.all_updates))
    updates = pl.coalesce((batch + 1).cast(pl.String), STEP)
    step = pl.when((split == "test").fill_null(False) | apart.fill_null(False)).then(STEP)
    return rows.with_columns(step.otherwise(updates).alias(STEP)).filter(pl.col(METRIC) != _EPOCH)


def counts_batches(rows: pl.DataFrame) -> bool:
    """Return whether steps are the numbers of batches, as Lightning gives them to any logger.

    It logs the epoch, from 0, at each step.
    """
    batches = _batches(rows)
    with_epoch = batches.epochs.keys()
    logged = batches.train & with_epoch or batches.val - batches.all_updates
    if not batches.val | batches.test <= with_epoch or 0 not in batches.epochs.values():
        return False
    # Such as 49, 99 and 149.
    return 0 in batches.train & with_epoch or (
        len(logged) > 1 and math.gcd(*(each + 1 for each in logged)) > 1
    )


class _Batches(NamedTuple):
    """Steps by what Lightning logged there, and those of all updates: outside the training."""

    train: set[int]
    val: set[int]
    test: set[int]
    epochs: dict[int, int]
    all_updates: set[int]


def _batches(rows: pl.DataFrame) -> _Batches:
    """Return at which steps Lightning logged what.

    A validation before the training is at step 0. One after it is at the first step of an epoch
    that has nothing else.
    """
    steps: dict[str, set[int]] = {"train": set(), "val": set(), "test": set()}
    epochs: dict[int, int] = {}
    for text, name, value in rows.select(STEP, METRIC, VALUE).unique([STEP, METRIC]).iter_rows():
        if (step := whole_number(text)) is None:
            continue
        if name == _EPOCH:
            epochs[step] = whole_number(value) or 0
        else:
            steps[words.split_of(name) or "train"].add(step)
    train, val, test = steps.values()
    found = set(test)
    first = sorted(val)[:3]
    # In training, one at the first update of all is followed by one at the next.
    if first[:1] == [0] and (
        first != [0, 1, 2][: len(first)] if first[1:] else max(train, default=0)
    ):
        found.add(0)
    last = max(train | val, default=0)
    epoch = epochs.get(last, 0)
    ended = max((step for step in train | val if epochs.get(step, 0) < epoch), default=0)
    # Where each epoch has one update, its first step is its last.
    if last not in train and epoch < last == ended + 1:
        found.add(last)
    return _Batches(train, val, test, epochs, found)


def is_keras(path: Path) -> bool:
    """Return whether a file is a CSV whose first column is the epoch, without one of steps."""
    first, *_ = log.begins(path, {".csv", ".log", ".tsv"}, 1 << 16).splitlines() or [b""]
    return bool(_EPOCHS_ALONE.match(first))


def read_keras(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of Keras' `CSVLogger`: a row at the end of each epoch, which count from 0."""
    yield LoggedRun(path.with_suffix(""), _csv_rows(path, _EPOCH))


def _csv_rows(path: Path, step: str) -> pl.DataFrame:
    """Return the rows of a CSV with a column a metric in the long format."""
    if not log.content(path):
        # A run that has only begun.
        return log.long_rows([])
    rows = pl.concat(read_parts(path, "csv"))
    if step not in rows.columns:
        raise Position(path, 1).error(None, f"it has no column {shown(step)}")
    values = rows.drop({STEP} - {step}, strict=False)
    # Polars refuses names that the columns have.
    long = values.unpivot(index=[LINE, step], variable_name="\0metric", value_name="\0value")
    long = long.rename({step: STEP, "\0metric": METRIC, "\0value": VALUE}).drop_nulls(VALUE)
    long = long.filter(~pl.col(VALUE).is_in(EMPTY)).sort(LINE, maintain_order=True)
    return long.select(LINE, STEP, METRIC, VALUE)


def is_levanter(path: Path) -> bool:
    """Return whether the beginning of a text log has a line of levanter's `json_logger`."""
    return _JSON_LOGGER.encode() in log.begins(path, (".jsonl", *_TEXTS), 1 << 18)


def read_levanter(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a file of JSON lines, alone or behind the prefix of a logger."""
    rows: list[tuple[int, object, str, object]] = []
    settings: dict[str, str] = {}
    for number, line in enumerate(log.lines(path), start=1):
        at = line.find(_JSON_LOGGER)
        # A process that was killed leaves part of its last line.
        if at < 0 or not line.endswith("}"):
            continue
        record = log.parse(line[at:], path, number)
        if record.get("event") == "hparams":
            settings |= log.settings_of(record["hparams"])
        elif record.get("event") == "log" and record.get("step") is not None:
            values = log.flat(record["metrics"], "/").items()
            rows += ((number, record["step"], name, value) for name, value in values)
    yield LoggedRun(path.with_suffix(""), log.long_rows(rows), settings)


def is_text_log(path: Path) -> bool:
    """Return whether a file may be a text log by its ending."""
    return path.suffix in _TEXTS


def line_pattern(form: str) -> tuple[re.Pattern[str], list[str]]:
    """Compile the form of a line; return the pattern and the names of its groups.

    What is in braces is a number: the step, or a metric of that name, which blanks
    may pad. Blanks stand for any.

    Raises:
        UsageError: the form has no {step}, has it twice, or has nothing else.

    Example:
        >>> line_pattern("iter {step}: loss {loss}")[0].search("12:00 iter 7: loss 2.5,").groups()
        ('7', '2.5')
    """
    texts_and_names = re.split(r"\{([^{}]+)\}", form)
    texts, names = texts_and_names[::2], texts_and_names[1::2]
    if names.count(STEP) != 1 or len(names) < 2 or len(set(names)) < len(names):
        raise UsageError(
            f"files.line is {form!r}, and should have {{step}} and metrics in braces, each once, "
            'as in line = "iter {step}: loss {loss}"'
        )
    escaped = [r"\s++".join(map(re.escape, re.split(r"\s+", text))) for text in texts]
    return re.compile(_NUMBER.join(escaped), re.IGNORECASE), names


def _plain(text: str) -> str:
    """Return a number without commas, and in the place of 1.#INF and 1.#IND inf and nan."""
    if "#" not in text:
        return text.replace(",", "")
    return f"{'-' if text.startswith('-') else ''}{'inf' if 'INF' in text.upper() else 'nan'}"


def read_text(path: Path, forms: Sequence[str]) -> Iterator[LoggedRun]:
    """Yield the run of a text log, of the lines that have one of the forms.

    A number at the end of a last line without a line break may be cut off.
    """
    patterns = [line_pattern(form) for form in forms]
    rows, note = [], ""
    for number, line in enumerate(log.lines(path, ends=True), start=1):
        for pattern, names in patterns:
            if not (match := pattern.search(line)):
                continue
            if match.end(len(names)) == len(line):
                note = _CUT
                continue
            values = dict(zip(names, map(_plain, match.groups()), strict=True))
            step = values.pop(STEP)
            rows += [(number, step, name, value) for name, value in values.items()]
    yield LoggedRun(path.with_suffix(""), log.long_rows(rows), note=note)
