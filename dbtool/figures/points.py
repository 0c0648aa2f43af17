"""From a figure's query to its points: the parameters, the rows, and the rows as CSV."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

from dbtool.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbtool.figures.specs import FigureSpec

_PARAMETER = re.compile(r"\$([a-z_]+)\b")


class NoDataError(DbtoolError):
    """The database holds no rows of the figure."""


@dataclass(frozen=True)
class Request:
    """What a figure is drawn with; None means: as the figure's query says.

    Attributes:
        release: the release to draw from; None: the one with the most studies of the figure.
        trials: the first trials of each study to use.
        goal: the goal of every curve, in place of the query's own.
        workloads: the workloads of the figures that take any.
    """

    release: str | None = None
    trials: int | None = None
    goal: float | None = None
    workloads: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Points:
    """What a query returned.

    Attributes:
        rows: a row a curve and batch size, sorted by panel, curve, x. Columns of every figure:
            panel, series, x (batch size), y (null where no trial reached the goal), panel_order,
            series_order, trials, asked_trials, goal_text, workload, release.
        left_out: (panel, series, workload) of the curves that the release has no study of.
        release: the release the rows are from.
        sql: the query with its parameters filled in; it runs as it is.
    """

    rows: pl.DataFrame
    left_out: pl.DataFrame
    release: str
    sql: str

    def csv(self) -> str:
        """The rows as CSV: one line a point, an empty y where no trial reached the goal."""
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
    held = frame.filter(pl.col("x").is_not_null())
    left_out = frame.filter(pl.col("x").is_null()).select("panel", "series", "workload")
    if held.is_empty():
        raise _no_data(connection, spec, request, left_out)
    return Points(held, left_out, held.item(0, "release"), filled_query(spec, request))


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


def _no_data(
    connection: duckdb.DuckDBPyConnection,
    spec: FigureSpec,
    request: Request,
    left_out: pl.DataFrame,
) -> NoDataError:
    """The error for a figure without a single row: what would fill it."""
    if request.workloads is not None:
        return NoDataError(
            f"no goal is known for {', '.join(request.workloads)}; give one with --goal"
        )
    releases = [name for (name,) in connection.execute("SELECT release FROM releases").fetchall()]
    where = request.release or ", ".join(releases)
    if left_out.is_empty():
        held = f"release {where}" if where else "the database"
        return NoDataError(
            f"{held} has no workload with a goal for {spec.name}; "
            "load shards with `dbtool ingest PATH` or train with `dbtool produce WORKLOAD`"
        )
    first = left_out.item(0, "workload")
    held = f"release {where}" if where else "the database, which holds no release,"
    return NoDataError(
        f"{held} has no rows of {spec.name}; the published release would fill it, "
        f"or a measured one with `dbtool produce {first}`"
    )
