"""From a figure's query to its points: the parameters, the rows, and the rows as CSV."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

from dbtool.errors import UsageError
from dbtool.figures.gaps import NoDataError, looked_at, no_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbtool.figures.specs import FigureSpec

__all__ = ["NoDataError", "Points", "Request", "as_points", "filled_query", "read_points"]

_PARAMETER = re.compile(r"\$([a-z_]+)\b")


@dataclass(frozen=True)
class Request:
    """What a figure is drawn with; None means: as the figure's query says.

    Attributes:
        release: the release to draw from, or several joined by commas, which are drawn over each
            other; None: the one with the most studies of the figure.
        trials: the first trials of each study to use.
        goal: the goal of every curve, in place of the query's own.
        workloads: the workloads of the figures that take any.
    """

    release: str | None = None
    trials: int | None = None
    goal: float | None = None
    workloads: tuple[str, ...] | None = None

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that are named, in their order."""
        return tuple(dict.fromkeys((self.release or "").split(","))) if self.release else ()


@dataclass(frozen=True)
class Points:
    """What a query returned.

    Attributes:
        rows: a row a point, sorted by panel, series, release, x. Columns of every figure: panel,
            series, x, y (null where there is no point), panel_order, series_order, kind, release,
            release_order, workload, metric, goal, goal_text, trials, asked_trials; a panel's kind
            says which others there are.
        left_out: the rows of the curves that a release has no data of; x is null.
        releases: those the request names, or the one the rows are from; in their order.
        sql: the query with its parameters filled in; it runs as it is.
    """

    rows: pl.DataFrame
    left_out: pl.DataFrame
    releases: Sequence[str]
    sql: str

    @property
    def release(self) -> str:
        """The releases, joined by commas."""
        return ",".join(self.releases)

    def csv(self) -> str:
        """The rows as CSV: one line a point, an empty y where there is no point."""
        return self.rows.write_csv()


def filled_query(spec: FigureSpec, request: Request) -> str:
    """The figure's query with literals in place of its parameters, to read or to run elsewhere."""
    values = _values(spec, request)

    def literal(found: re.Match[str]) -> str:
        name = found[1]
        return _literal(values[name]) if name in values else found[0]

    return _PARAMETER.sub(literal, spec.query_path.read_text(encoding="utf-8"))


def read_points(
    connection: duckdb.DuckDBPyConnection, spec: FigureSpec, request: Request
) -> Points:
    """Runs a figure's query.

    Raises:
        UsageError: the request names workloads and the figure has its own.
        NoDataError: the database holds no rows of the figure.
    """
    text = spec.query_path.read_text(encoding="utf-8")
    (statement,) = duckdb.extract_statements(text)
    values = _values(spec, request)
    frame = connection.execute(
        text, {name: values[name] for name in statement.named_parameters}
    ).pl()
    points = as_points(frame, spec, request)
    if points.rows.is_empty():
        held = connection.execute("SELECT release FROM releases").fetchall()
        releases = request.releases or tuple(name for (name,) in held)
        _check_metaparameter(connection, spec, releases, request.workloads)
        raise no_data(spec, releases, points.left_out, request.workloads)
    return points


def _check_metaparameter(
    connection: duckdb.DuckDBPyConnection,
    spec: FigureSpec,
    releases: Sequence[str],
    workloads: Sequence[str] | None,
) -> None:
    """Says that the trials which were looked at lack what the figure is about.

    Raises:
        NoDataError: so it is.
    """
    if spec.metaparameter is None or not releases:
        return
    having = connection.execute(
        "FROM trials WHERE list_contains($releases, release) "
        "AND ($workloads IS NULL OR list_contains($workloads, workload)) "
        "AND map_contains(metaparameters, $metaparameter) LIMIT 1",
        {
            "releases": list(releases),
            "workloads": None if workloads is None else list(workloads),
            "metaparameter": spec.metaparameter,
        },
    )
    if having.fetchone() is None:
        example = f" '{workloads[0]}'" if workloads else ""
        raise NoDataError(
            f"no trial of {looked_at(releases, workloads)} has a {spec.metaparameter}; "
            f"see what they have with `dbtool trials{example}`"
        )


def as_points(frame: pl.DataFrame, spec: FigureSpec, request: Request) -> Points:
    """A query's rows as points: those to draw apart from those that name what is left out."""
    for column, value in (("kind", spec.kind), ("release_order", 1)):
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(value).alias(column))
    held = frame.filter(pl.col("x").is_not_null())
    releases = request.releases or tuple(held["release"].drop_nulls().unique(maintain_order=True))
    left_out = frame.filter(pl.col("x").is_null())
    return Points(held, left_out, releases, filled_query(spec, request))


def _values(spec: FigureSpec, request: Request) -> Mapping[str, Any]:
    """The parameters of a figure's query by name.

    Raises:
        UsageError: the request names workloads and the figure has its own.
    """
    if request.workloads is not None and not spec.takes_workloads:
        raise UsageError(
            f"{spec.name} names its workloads itself; "
            f"draw any others with `dbtool plot steps --workload {request.workloads[0]}`"
        )
    return {
        "release": request.release,
        "trials": request.trials,
        "goal": request.goal,
        "workloads": None if request.workloads is None else list(request.workloads),
    }


def _literal(value: object) -> str:
    """A parameter's value as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return f"[{', '.join(_literal(item) for item in value)}]"
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return repr(value)
