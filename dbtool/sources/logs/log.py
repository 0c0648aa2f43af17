"""The runs of a log: their rows in the long format as text, and their settings."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from dbtool.core.files import encoding_of
from dbtool.sources.tables.files import part_of
from dbtool.store.table_files import Position, opened
from dbtool.store.texts import LINE

RUN, STEP, METRIC, VALUE = COLUMNS = ("run", "step", "metric", "value")
_KEY = r"[A-Za-z](?:[\w.]*?[A-Za-z0-9])?"
# Brackets belong to a value where they are opened in it.
_TEXT = r"(?:[^,;&|/=()\[\]{}]|\([^()/]*\)|\[[^\[\]/]*\]|\{[^{}/]*\})+?"
_SETTING = re.compile(rf"({_KEY})=({_TEXT})(?=[,;&|/)\]}}]|[\W_]+{_KEY}=|\Z)")
# What precedes the settings in names of Ray Tune, up to the number of the trial.
_TRIAL = re.compile(r"(?<![^/])[^/=]*_\d{5}_\d+_")
_DATE = r"\d{4}-?\d\d-?\d\d"
_WHEN = re.compile(rf"[-_ ]{_DATE}(?:[-_T ]\d\d[-:]?\d\d(?:[-:]?\d\d)?)?(?![^/])")


class LoggedRun(NamedTuple):
    """A run, or part of one, in a log.

    Attributes:
        name: the run's name, or the folder or file that names it.
        rows: `LINE`, and as text the step, metric and value; in the order in which they were
            logged.
        settings: what the log states about the run, by name.
        at_updates: returns rows of the log at the updates before each, from them and all rows of
            their run; None where steps are updates.
        note: what is odd about the log; empty where nothing is.
        about: what a mapping may read, and is not a setting.
    """

    name: Path | str
    rows: pl.DataFrame
    settings: Mapping[str, str] = {}
    at_updates: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame] | None = None
    note: str = ""
    about: Mapping[str, str] = {}


def long_rows(rows: Iterable[tuple[int, Any, str, Any]]) -> pl.DataFrame:
    """Return rows of a log as text, from their line, step, metric and value."""
    schema = {LINE: pl.Int64, STEP: pl.String, METRIC: pl.String, VALUE: pl.String}
    texts = [(line, str(step), metric, str(value)) for line, step, metric, value in rows]
    return pl.DataFrame(texts, schema, orient="row")


def flat(value: Mapping[str, Any], separator: str = ".", prefix: str = "") -> dict[str, Any]:
    """Return the numbers, texts and truths of nested objects, by their joined names."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            found |= flat(inner, separator, f"{prefix}{key}{separator}")
        elif isinstance(inner, str | bool | int | float):
            found[f"{prefix}{key}"] = inner
    return found


def settings_of(value: Mapping[str, Any]) -> dict[str, str]:
    """Return an object as the texts of settings; true and false are written as JSON has them."""
    return {
        name: each if isinstance(each, str) else json.dumps(each)
        for name, each in flat(value).items()
        if each != ""
    }


def named_settings(name: str) -> dict[str, str]:
    """Return the settings in the name of a run, without what stands before them and a date behind.

    Example:
        >>> named_settings("train_abc_00000_0_lr=0.0100,wd=1e-4_2024-01-01_10-00-00/seed=1")
        {'lr': '0.0100', 'wd': '1e-4', 'seed': '1'}
    """
    found: dict[str, str] = {}
    for key, text in _SETTING.findall(_WHEN.sub("", _TRIAL.sub("", part_of(name)))):
        short = key.rpartition("__")[2]
        found[key if short in found else short] = text
    return found


def parse(text: str | bytes, path: Path, line: int = 0) -> dict[str, Any]:
    """Parse a JSON object of a log, whose numbers stay text.

    Raises:
        RunsError: the text is not a JSON object.
    """
    try:
        value = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise Position(path, line).error(None, f"it is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise Position(path, line).error(None, "it is not a JSON object")
    return value


def begins(path: Path, endings: Iterable[str], size: int = 1 << 12) -> bytes:
    """Return the first bytes of a file with one of the endings; none of other files."""
    if path.suffix not in endings:
        return b""
    with opened(path) as file:
        return file.read(size)


def content(path: Path) -> bytes:
    """Return the bytes of a log.

    Raises:
        RunsError: it cannot be read.
    """
    with opened(path) as file:
        return file.read()


def lines(path: Path, *, ends: bool = False) -> list[str]:
    """Return the lines of a text log, maybe with their ends; wrong bytes are replaced."""
    text = content(path)
    return text.decode(encoding_of(text), errors="replace").splitlines(keepends=ends)
