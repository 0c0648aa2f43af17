"""The questions of the command line and of Python, with every name in them checked."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeAlias

from dbtool.core.catalog import catalog
from dbtool.core.checks import require_goal, require_whole
from dbtool.core.errors import UsageError, matching, unknown
from dbtool.core.resources import query

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from dbtool.store.releases import Releases

Patterns: TypeAlias = "str | Iterable[str] | None"
Numbers: TypeAlias = "int | Iterable[int] | None"

FIRST_TRIALS = 100
"""Number of each study's trials that the paper counts."""
_ALL = ("*",)
_BRANCHED = re.compile(r"^branched_from_\d+/")
_SUSTAINED = {
    "trial_steps": "sustained_steps",
    "trial_crossings": "sustained_trial_crossings",
    "trial_seconds": "sustained_seconds",
}


@dataclass(frozen=True)
class Question:
    """A query, the values of its parameters, and whether it reads measurements, not the index."""

    sql: str | duckdb.Statement
    values: Mapping[str, Any]
    measurements: bool = False


def passage_query(text: str, evaluation_count: int, *, seconds: bool = False) -> str:
    """Return a query of first passages that asks for so many evaluations in a row, or for seconds.

    Each crossing of measurements that a query names takes time, so that it names one way alone.

    Example:
        >>> passage_query("FROM trial_steps('asked')", 2)
        "FROM sustained_steps('asked', 2)"
        >>> passage_query("FROM trial_steps('asked')", 1, seconds=True)
        "FROM trial_seconds('asked')"
    """
    if seconds:
        text = text.replace("trial_steps('asked')", "trial_seconds('asked')")
    if evaluation_count > 1:
        for first, sustained in _SUSTAINED.items():
            text = text.replace(f"{first}('asked')", f"{sustained}('asked', {evaluation_count})")
    return text


def index_question(name: str, **values: Any) -> Question:
    """Return the query of a name in queries/browse, which reads only the index, with its values."""
    return Question(query(name), values)


def known_release(db: Releases, release: str | None) -> str | None:
    """Return the requested release or the default, None for all; a missing one is a UsageError."""
    release = release if release is not None else db.release
    if release is not None:
        _require_held(db, "release", [release], index_question("releases"), "dbtool releases")
    return release


def _require_held(
    db: Releases, kind: str, wanted: Iterable[str | int], held: Question, listing: str
) -> None:
    """Raise an error for a wanted name or number that is not in the first column of `held`."""
    there = dict.fromkeys(str(each) for (each, *_) in db.result(held))
    for each in map(str, wanted):
        if each not in there:
            raise unknown(kind, each, there, listing)


def chosen_workloads(db: Releases, patterns: Patterns, release: str | None = None) -> list[str]:
    """Return the names of workloads that match patterns, in their order, or raise a UsageError."""
    release = known_release(db, release)
    held = [name for (name,) in db.result(index_question("held_workloads", release=release))]
    asked = [each for each in _patterns(patterns) if held or each not in _ALL]
    return matching(asked, held, lambda pattern: unknown_workload(pattern, held))


def unknown_workload(word: str, held: Iterable[str]) -> UsageError:
    """Return the error for a word that matches no workload, or a published one that is absent."""
    if fnmatch.filter([each.workload for each in catalog()], word):
        return UsageError(
            f"{word!r} is published, but not held here: `dbtool fetch` downloads the archive and "
            "`dbtool import` adds it"
        )
    return unknown("workload", word, held, "dbtool workloads")


def require_metric(db: Releases, metric: str | None) -> None:
    """Raise a UsageError for a metric without a column."""
    if metric is not None:
        listing = "dbtool sql 'DESCRIBE measurements'"
        _require_held(db, "metric", [metric], index_question("held_metrics"), listing)


def branched_from(workload: str) -> str | None:
    """Return the workload whose trials the branches of another go on from; None of any other.

    Example:
        >>> branched_from("branched_from_64/mnist/fc_64_64_64/adam")
        'mnist/fc_64_64_64/adam'
    """
    parent = _BRANCHED.sub("", workload)
    return None if parent == workload else parent


def with_goals(
    db: Releases,
    chosen: Mapping[str, Any],
    patterns: Patterns,
    metric: str | None,
    goal: float | None,
) -> dict[str, Any]:
    """Return chosen studies without workloads that have no goal, where only a pattern named them.

    Of metric and goal, None is each workload's own.

    Raises:
        UsageError: the goal is out of the metric's range, or a workload that was named has none
            for the metric, or all that a pattern matches.
    """
    goals = index_question("goals", workloads=chosen["workloads"], release=chosen["release"])
    without: dict[str, str] = {}
    for name, own_metric, own_goal in db.result(goals):
        if goal is not None:
            require_goal(goal, metric or own_metric)
        elif own_goal is None or metric not in {None, own_metric}:
            without[name] = metric or own_metric
    left = [name for name in chosen["workloads"] if name not in without]
    named = [name for name in without if name in _patterns(patterns)]
    if without and (named or not left):
        name = (named or list(without))[0]
        if parent := branched_from(name):
            raise UsageError(
                f"{name!r} holds branches, which have no goal; ask for the workload that they "
                f"branch from: `dbtool scaling {quote(parent)} --rows branches`"
            )
        raise UsageError(
            f"workload {name!r} has no goal of its own for {without[name]}; give one "
            "(`--goal X`, or goal=X in Python)"
        )
    return {**chosen, "workloads": left}


def chosen_studies(
    db: Releases, workload: Patterns, batch_size: Numbers, release: str | None
) -> dict[str, Any]:
    """Return workloads, release and batch_sizes as values of a query, or raise a UsageError."""
    release = known_release(db, release)
    names, sizes = chosen_workloads(db, workload, release), _numbers(batch_size, "batch_size")
    chosen = {"workloads": names, "release": release}
    if sizes is not None:
        listing = f"dbtool studies {' '.join(names[:1])}".rstrip()
        held = index_question("held_batch_sizes", **chosen)
        _require_held(db, "batch size", sizes, held, listing)
    return chosen | {"batch_sizes": sizes}


def chosen_trials(db: Releases, chosen: Mapping[str, Any], trial_id: Numbers) -> list[int] | None:
    """Return the requested trials of chosen studies, or raise a UsageError; None for all."""
    wanted = _numbers(trial_id, "trial_id")
    if wanted is not None:
        listing = f"dbtool trials {' '.join(chosen['workloads'][:1])}".rstrip()
        _require_held(db, "trial", wanted, index_question("held_trials", **chosen), listing)
    return wanted


def _patterns(given: Patterns) -> list[str]:
    names: list[Any] = [given] if isinstance(given, str) else list(_ALL if given is None else given)
    if not all(isinstance(name, str) for name in names):
        raise UsageError(
            f"workload is a {type(given).__name__}, and should be a name or a pattern such as "
            "'mnist/*', or a list of them"
        )
    return names


def _numbers(given: Numbers, name: str) -> list[int] | None:
    if given is None:
        return None
    return [
        require_whole(name, each, 0) for each in (given if isinstance(given, Iterable) else [given])
    ]
