"""Questions about releases with every name in them checked, and queries of the user's own."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeAlias

from dbtool.core.catalog import catalog
from dbtool.core.checks import require_goal, require_whole
from dbtool.core.errors import UsageError, closest, first_sentence, matching, unknown
from dbtool.core.resources import queries_folder, query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
# No query is a single word of these characters, the last of which occur in paths.
_WORD = re.compile(r"[\w./\\-]+")
_VIEWS = {"releases", "workloads", "studies", "trials", "measurements", "evaluations"}
_NO_COLUMN = re.compile(r'Referenced column "([^"]+)" not found')
_SEARCHES = (
    "whose trials were trained to their end, not in lockstep, as those in the archive of 2018 "
    "(`dbtool fetch`, then `dbtool import`) or in data/measured of the repository"
)
_FIVE = "studies of 5 or more settings"
_NEEDS = {
    "best_by_epochs": "workloads whose train_examples are known, and studies of an epoch or more",
    "best_curves": "studies of which a trial reached the workload's own goal",
    "best_of_k": f"random searches {_SEARCHES}",
    "efficiency": f"{_FIVE}; the replicates of a setting count once",
    "enough_trials": f"{_FIVE} of which one reached the workload's own goal",
    "luck": f"{_FIVE} {_SEARCHES}",
    "optima": "searches of a range of which a trial reached the workload's own goal",
    "sensitivity": f"{_FIVE} {_SEARCHES}",
}
# DuckDB's own tables, which resemble none of the views.
_OWN_TABLE = re.compile(r'Did you mean "(?:pg|sqlite|duckdb|information_schema)_?[^"]*"\??')
_VIEWS_THERE_ARE = (
    "the views are releases, workloads, studies, trials, measurements and evaluations; "
    "`dbtool sql --with NAME=FILE` adds a table, and in Python db.sql(…, tables={…})"
)


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
        _require_held(db, "release", [release], "dbtool releases", "releases")
    return release


def _require_held(
    db: Releases, kind: str, wanted: Iterable[str | int], listing: str, name: str, **values: Any
) -> None:
    """Raise an error for a wanted name or number that is not in the first column of a question."""
    there = dict.fromkeys(str(each) for (each, *_) in db.result(index_question(name, **values)))
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


def require_metric(db: Releases, metric: str | None, chosen: Mapping[str, Any]) -> None:
    """Raise a UsageError for a metric that is no column and that no chosen study measured."""
    if metric is None:
        return
    held = [name for (name,) in db.result(index_question("held_metrics"))]
    if metric not in held:
        others = Question(query("held_other_metrics"), chosen, measurements=True)
        held += [name for (name,) in db.result(others)]
    if metric not in held:
        raise unknown(
            "metric", metric, held, "dbtool sql 'SELECT DISTINCT metric FROM evaluations'"
        )


def branched_from(workload: str) -> str | None:
    """Return the workload whose trials the branches of another go on from; None of any other.

    Example:
        >>> branched_from("branched_from_64/mnist/fc_64_64_64/adam")
        'mnist/fc_64_64_64/adam'
    """
    parent = _BRANCHED.sub("", workload)
    return None if parent == workload else parent


def name_in(release: str | None, workload: str | None) -> str:
    """Return the name of a workload in one of several releases, RELEASE:WORKLOAD."""
    return f"{release}:{workload}"


def release_and_workload(name: str) -> tuple[str | None, str]:
    """Return the release, or None, and the workload of a name; see `name_in`."""
    # The name of a workload may have a colon, too, as in mnist/mlp:large/sgd.
    release, colon, workload = name.partition(":")
    return (release, workload) if colon and "/" not in release else (None, name)


def with_goals(
    db: Releases,
    chosen: Mapping[str, Any],
    patterns: Patterns,
    metric: str | None,
    goal: float | None,
) -> dict[str, Any]:
    """Return chosen studies of the workloads and releases that have a goal.

    Their `keys` are those of `name_in`. A workload without a goal in any release is left out where
    only a pattern named it. Of metric and goal, None is each workload's own.

    Raises:
        UsageError: the goal is out of the metric's range, or a workload that was named has none
            for the metric, or all that a pattern matches.
    """
    goals = index_question("goals", workloads=chosen["workloads"], release=chosen["release"])
    without: dict[str, str] = {}
    keys: dict[str, str] = {}
    for name, release, own_metric, own_goal in db.result(goals):
        if goal is not None:
            require_goal(goal, metric or own_metric)
        if goal is not None or (own_goal is not None and metric in {None, own_metric}):
            keys[name_in(release, name)] = name
        else:
            without[name] = metric or own_metric
    left = [name for name in chosen["workloads"] if name in keys.values()]
    without = {name: of for name, of in without.items() if name not in left}
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
    return {**chosen, "workloads": left, "keys": list(keys)}


def chosen_studies(
    db: Releases, workload: Patterns, batch_size: Numbers, release: str | None
) -> dict[str, Any]:
    """Return workloads, release and batch_sizes as values of a query, or raise a UsageError."""
    release = known_release(db, release)
    names, sizes = chosen_workloads(db, workload, release), _numbers(batch_size, "batch_size")
    chosen = {"workloads": names, "release": release}
    if sizes is not None:
        listing = f"dbtool studies {' '.join(names[:1])}".rstrip()
        _require_held(db, "batch size", sizes, listing, "held_batch_sizes", **chosen)
    return chosen | {"batch_sizes": sizes}


def chosen_trials(db: Releases, chosen: Mapping[str, Any], trial_id: Numbers) -> list[int] | None:
    """Return the requested trials of chosen studies, or raise a UsageError; None for all."""
    wanted = _numbers(trial_id, "trial_id")
    if wanted is not None:
        listing = f"dbtool trials {' '.join(chosen['workloads'][:1])}".rstrip()
        _require_held(db, "trial", wanted, listing, "held_trials", **chosen)
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


def analyses() -> dict[str, str]:
    """Return the question of each analysis, which is its first line, by its name."""
    return {
        name: query(name, "analyses").splitlines()[0].removeprefix("-- ")
        for name in _analysis_names()
    }


def lack_of(text: str) -> str:
    """Return a sentence on what an analysis needs that ended without rows; "" for other queries."""
    if not is_analysis(text):
        return ""
    name = text.strip()
    return f"{name} has no rows: it needs {_NEEDS.get(name, 'studies with trials')}"


def is_analysis(text: str) -> bool:
    """Return whether a query is the name of an analysis."""
    return text.strip() in _analysis_names()


def query_text(text: str) -> str:
    """Return SQL as it is, or that of the analysis of that name; another word is a UsageError."""
    word, names = text.strip(), _analysis_names()
    if word in names:
        return query(word, "analyses")
    if not _WORD.fullmatch(word):
        return text
    if word.lower() in _VIEWS:
        raise UsageError(
            f"{word!r} is not an analysis but a view: write `dbtool sql 'FROM {word}'` for its rows"
        )
    path = PurePath(word)
    if path.suffix == ".sql" and Path(word).is_file():
        raise UsageError(f"{word!r} is a file: run it with `dbtool sql -f {word}`")
    is_path = path.suffix == ".sql" or len(path.parts) > 1
    raise UsageError(
        f"unknown analysis {word!r}; closest: {', '.join(closest(path.stem, names))} (there are "
        f"{', '.join(names)}{'; `dbtool sql -f FILE` reads a file' if is_path else ''})"
    )


def of_workloads(analysis: str, names: Sequence[str]) -> str:
    """Return the query of an analysis whose rows are those of the named workloads alone."""
    from dbtool.store.statements import sql_text

    listed = ", ".join(map(sql_text, names))
    return f"FROM ({analysis.strip().removesuffix(';')}\n)\nWHERE workload IN ({listed})"


def check_values(
    named: set[str], values: Mapping[str, object], remedy: str = "give it as {name}=VALUE"
) -> None:
    """Raise a UsageError unless a query's parameters and the values have the same names.

    The remedy is that for a missing value, with {name} for its name.
    """
    from dbtool.store.statements import require_text

    for name, value in values.items():
        if name not in named:
            near = ", ".join(f"${each}" for each in closest(name, named))
            has = f"closest: {near}" if near else "it has no parameters"
            raise UsageError(f"the query has no ${name}; {has}")
        if isinstance(value, str):
            require_text(value, f"the value of ${name}")
    for name in sorted(named - set(values)):
        raise UsageError(f"the query needs a value for ${name}; {remedy.format(name=name)}")


def explained(error: BaseException) -> str:
    """Return one sentence on why a query failed and what to write instead."""
    from dbtool.core.index import OWN_COLUMN

    # DuckDB puts the kind before what a macro says.
    sentence = first_sentence(error).replace("Invalid Input Error: unknown ", "unknown ", 1)
    text = _OWN_TABLE.sub(_VIEWS_THERE_ARE, sentence)
    missing = _NO_COLUMN.search(text)
    if missing and missing[1] in OWN_COLUMN:
        return (
            f"{missing[0]}; it is a column of trials: JOIN trials USING (release, workload, "
            "batch_size, trial_id)"
        )
    if missing and not missing[1].isidentifier():
        return f"{missing[0]}; text stands in single quotes, names of columns in double ones"
    return text


def _analysis_names() -> list[str]:
    return sorted(path.stem for path in (queries_folder() / "analyses").glob("*.sql"))
