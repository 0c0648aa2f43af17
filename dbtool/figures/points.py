"""The points of a figure: its query, what the query returned, and what data are missing."""

import io
import re
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from dbtool.core.catalog import catalog
from dbtool.core.checks import require_goal, require_number, require_whole
from dbtool.core.errors import DbtoolError, UsageError, unknown
from dbtool.core.files import require_own
from dbtool.core.resources import schema_folder
from dbtool.figures.names import readable
from dbtool.figures.specs import FigureSpec
from dbtool.store.questions import Question, index_question, passage_query
from dbtool.store.releases import Releases
from dbtool.store.statements import sql_text

if TYPE_CHECKING:
    from dbtool.figures.scaling import Findings


LINES = ("fit", "first")
"""Lines of perfect scaling: the limit of the fitted curve, or through its first point."""
_SEARCHES = {
    "window": "windowed search",
    "lockstep": "search in lockstep",
    "one setting": "replicates of one setting",
}
MANY = 6
"""Figures: to prepare for fewer, and to start processes, takes as long as to draw these."""
SPARSE = "sparsity_90/mnist/fc_128_128_128/sgd"
# Kinds of panels whose points are joined to curves.
_CURVED = ("steps_to_result", "normalised", "metaparameter", "best", "against")
_KEEPING = threading.Lock()
_READERS: Mapping[str, Callable[[io.BytesIO], pl.DataFrame]] = {
    ".csv": partial(pl.read_csv, n_rows=0, encoding="utf8-lossy"),
    ".json": pl.read_json,
    ".parquet": partial(pl.read_parquet, n_rows=0),
}
_PARAMETER = re.compile(r"\$([a-z_]+)\b")


class NoDataError(DbtoolError):
    """The database has no rows for a figure."""


@dataclass(frozen=True)
class Request:
    """The parameters of a figure; None leaves the default of its query.

    Attributes:
        release: the release to draw from, or several joined by commas, which are drawn over each
            other; None: the one with the most studies of the figure.
        trials: the first trials of each study to use.
        goal: the goal of every curve, in place of the query's own.
        workloads: the workloads of the figures that take any.
        metric: of every curve that a workload has, in place of its own; the figures that are the
            papers' have none.
        through: "first" hangs lines of perfect scaling on each curve's first point, as the papers
            do, where a figure would fit them.
        bands: whether curves have bands; None: those of the figures that take any workloads.
        sustained: evaluations in a row that have to be past the goal.
        trainable: the workloads that `dbtool produce` trains, for sentences about what is missing.

    Raises:
        UsageError: a number is out of range, or no line is called so.
    """

    release: str | None = None
    trials: int | None = None
    goal: float | None = None
    workloads: tuple[str, ...] | None = None
    metric: str | None = None
    through: str | None = None
    bands: bool | None = None
    sustained: int = 1
    trainable: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Check the values."""
        if self.trials is not None:
            require_whole("trials", self.trials)
        if self.goal is not None:
            require_number("goal", self.goal)
        require_whole("sustained", self.sustained)
        if self.through not in {None, *LINES}:
            raise unknown("line", str(self.through), LINES, "dbtool plot --help")

    @property
    def releases(self) -> tuple[str, ...]:
        """The names of the releases, in order."""
        return tuple(dict.fromkeys((self.release or "").split(","))) if self.release else ()


@dataclass(frozen=True)
class Points:
    """The rows of a figure's query.

    Attributes:
        rows: a row a point, sorted by panel, series, release, x. Columns of every figure: panel,
            series, x, y (null where there is no point), panel_order, series_order, kind, release,
            release_order, workload, metric, goal, goal_inclusive, trials, asked_trials; a panel's
            kind says which others there are.
        left_out: the rows of the curves that a release has no data of; x is null.
        missing: what the releases lack of them, by release.
        releases: those the request names, or the one the rows are from; in their order.
        sql: the query with its parameters filled in; it runs as it is.
        request: what they were requested with.
        searches: how the studies were searched, as in "windowed search".
        has_replicates: whether trials are replicates, whose medians count.
        findings: what an analysis found of a panel's curve, by panel_order.
    """

    rows: pl.DataFrame
    left_out: pl.DataFrame
    missing: "Mapping[str, Missing]"
    releases: Sequence[str]
    sql: str
    request: Request = field(default_factory=Request)
    searches: Sequence[str] = ()
    has_replicates: bool = False
    findings: "Mapping[int, Findings]" = field(default_factory=dict)

    @property
    def release(self) -> str:
        """The releases, joined by commas."""
        return ",".join(self.releases)

    @property
    def lone(self) -> list[int]:
        """Panels, by panel_order, whose curves are one point each, where others have more."""
        known = self.rows.filter(pl.col("y").is_not_null(), pl.col("kind").is_in(_CURVED))
        counts = known.group_by("panel_order", "series").agg(pl.col("x").n_unique())
        most = counts.group_by("panel_order").agg(pl.col("x").max())
        lone = most.filter(pl.col("x") == 1)["panel_order"].to_list()
        return lone if len(lone) < self.rows["panel_order"].n_unique() else []

    def first(self, column: str) -> Any:
        """Return the first value of a column that is not null; None where there is none."""
        return first_of(self.rows, column)

    def csv(self) -> str:
        """Return the rows as CSV: one line a point, with an empty y where there is none."""
        return self.rows.write_csv()


def require_no_other(file: Path) -> None:
    """Refuse to replace a table without a figure's columns, or a file that names no dbtool."""
    read = _READERS.get(file.suffix)

    def is_own(content: bytes) -> bool:
        if read is None:
            return b"dbtool" in content
        try:
            return {"panel", "series", "x", "y"} <= {*read(io.BytesIO(content)).columns}
        except pl.exceptions.PolarsError:
            return False

    require_own(file, is_own)


def first_of(rows: pl.DataFrame, column: str) -> Any:
    """Return the first value of a column that is not null; None without one, or a column."""
    return next(iter(rows[column].drop_nulls()), None) if column in rows.columns else None


def filled_query(spec: FigureSpec, request: Request) -> str:
    """Return the query of a figure with literals in place of its parameters, to read or to run.

    Raises:
        UsageError: the request names workloads and the figure has its own.

    Example:
        >>> print(filled_query(find_figure("momenta"), Request(goal=0.03)).splitlines()[-2])
        points AS (FROM steps_points('study_rows'))
    """
    if request.workloads is not None and not spec.takes_workloads:
        raise UsageError(
            f"{spec.name} names its workloads itself; "
            f"draw any others with `dbtool plot steps --workload {request.workloads[0]}`"
        )
    workloads = spec.workloads or request.workloads
    values = {
        "figure": spec.curves or spec.name,
        "metaparameter": spec.metaparameter,
        "release": request.release,
        "trials": request.trials,
        "goal": request.goal,
        "metric": request.metric,
        "through": request.through,
        "bands": request.bands,
        "workloads": None if workloads is None else list(workloads),
    }
    text = passage_query(spec.query_path.read_text(encoding="utf-8"), request.sustained)
    return _PARAMETER.sub(lambda found: _literal(values[found[1]]), text)


def read_points(db: Releases, spec: FigureSpec, request: Request) -> Points:
    """Run the query of a figure.

    Raises:
        UsageError: the request names workloads and the figure has its own, or its goal is out of a
            metric's range.
        NoDataError: the database holds no rows of the figure.
        DbtoolError: a shard is damaged.

    Example:
        >>> read_points(db, find_figure("steps"), Request(goal=0.03)).rows["panel"].n_unique()
        5
    """
    query = filled_query(spec, request)
    frame = db.result(Question(query, {}, measurements=True)).polars()
    points = as_points(frame, spec, request, query)
    if request.goal is not None:
        for metric in points.rows["metric"].unique():
            require_goal(request.goal, metric)
    if points.rows.is_empty():
        releases = request.releases or [name for name, *_ in db.result(index_question("releases"))]
        raise _no_data(spec, releases, points.left_out, request)
    if spec.kind == "against" and points.rows["x"].n_unique() == 1:
        raise NoDataError(
            f"release {points.release} has trials at one sparsity alone, and a curve of "
            f"{spec.name} takes two; train sparse networks, such as `dbtool produce {SPARSE}`"
        )
    names = points.rows["workload"].drop_nulls().unique().to_list()
    asked = index_question("searches", releases=list(points.releases), workloads=names)
    methods = {method for (method,) in db.result(asked)}
    known = sorted(_SEARCHES[each] for each in methods & _SEARCHES.keys())
    return replace(points, searches=known, has_replicates="replicates" in methods)


def read_each(
    db: Releases, specs: Sequence[FigureSpec], request: Request
) -> Generator[Points | NoDataError, None, None]:
    """Yield the points of each figure, or why it has none; errors are those of `read_points`.

    Of many figures two queries run at the same time: DuckDB plans one on one core, which takes
    longer than to answer most.
    """

    def read(spec: FigureSpec) -> Points | NoDataError:
        try:
            return read_points(db, spec, request)
        except NoDataError as error:
            return error

    if len(specs) < MANY:
        yield from map(read, specs)
        return
    _keep_crossings(db, request)
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(read, specs)


def _keep_crossings(db: Releases, request: Request) -> None:
    """Compute when trials passed their workloads' goals, once for the queries of many figures.

    The rows of these queries are the same with it; only `db` is changed. Sustained goals, which are
    rarely asked for, are not kept.
    """
    values = {"release": request.release, "goal": request.goal, "workloads": request.workloads}
    if request.sustained > 1:
        return
    text = (schema_folder() / "kept_crossings.sql").read_text(encoding="utf-8")
    # Two threads at once would be a conflict; other queries see all of it or nothing.
    with _KEEPING, db.cursor(writes=True) as cursor:
        for each in cursor.extract_statements(text):
            cursor.execute(each, {name: values[name] for name in each.named_parameters})


def as_points(frame: pl.DataFrame, spec: FigureSpec, request: Request, query: str) -> Points:
    """Divide the rows of a query into points to draw and names of missing curves."""
    if "kind" not in frame.columns:
        frame = frame.with_columns(kind=pl.lit(spec.kind))
    held = frame.filter(pl.col("x").is_not_null())
    releases = request.releases or tuple(held["release"].drop_nulls().unique(maintain_order=True))
    left_out = frame.filter(pl.col("x").is_null())
    missing = {} if held.is_empty() else _missing(held, left_out, spec, request)
    return Points(held, left_out, missing, releases, query, request)


def _no_data(
    spec: FigureSpec, releases: Sequence[str], left_out: pl.DataFrame, request: Request
) -> NoDataError:
    """Return the error for a figure without rows, which names what would fill it."""
    named = request.workloads
    looked_at = f"release {', '.join(releases)}" if named is None else ", ".join(named)
    if releases and spec.takes_only:
        return NoDataError(
            f"{looked_at} has no workloads with a goal that {spec.takes_only}; "
            "see what there is with `dbtool workloads`"
        )
    if named is not None and request.goal is not None:
        return NoDataError(
            f"no trial of {looked_at} got past the goal {request.goal:g}; "
            "give one that is easier with --goal"
        )
    if named is not None:
        return NoDataError(f"no goal is known for {looked_at}; give one with --goal")
    held = looked_at if releases else "the database, which holds no release,"
    missing = spec.workloads or left_out["workload"].drop_nulls()
    if not len(missing):
        return NoDataError(
            f"{held} has no workload with a goal for {spec.name}; "
            "load shards with `dbtool ingest PATH` or train with `dbtool produce WORKLOAD`"
        )
    filled = what_fills(missing, releases, request.trainable, spec)
    way = f"{filled} would fill it" if filled else "no release or producer of dbtool has them"
    way = way if request.goal is None else f"an easier goal, or {way}"
    return NoDataError(f"{held} has no rows of {spec.name}{past(request.goal)}; {way}")


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return sql_text(value) if isinstance(value, str) else repr(value)


PUBLISHED = "published"
MOST_COMMANDS = 3  # more commands than this would fill the page; the rest are like them


@dataclass(frozen=True)
class Missing:
    """What a release lacks of a figure.

    Attributes:
        names: of panels, and of curves as in "PANEL (CURVE, …)" where others of it are drawn.
        ways: the commands that would fill them, as the end of a sentence; "" if none do.
        what: what it lacks of them.
    """

    names: Sequence[str]
    ways: str
    what: str


def _missing(
    rows: pl.DataFrame, left_out: pl.DataFrame, spec: FigureSpec, request: Request
) -> Mapping[str, Missing]:
    """Return what the releases of a figure lack, by release."""
    found = {}
    for (release,), lacking in left_out.group_by("release", maintain_order=True):
        drawn = set(rows.filter(release=release)["panel"])
        panels: dict[str, dict[str, None]] = {}
        for panel, series in lacking.select("panel", "series").iter_rows():
            panels.setdefault(panel, {})[readable(series)] = None
        names = [
            f"{readable(panel)} ({', '.join(curves)})" if panel in drawn else readable(panel)
            for panel, curves in panels.items()
        ]
        workloads = lacking["workload"].drop_nulls()
        ways = what_fills(workloads, [str(release)], request.trainable, spec)
        found[str(release)] = Missing(names, "" if spec.lacks else ways, spec.lacks or "no data")
    return found


def past(goal: float | None) -> str:
    """Return what a sentence about missing data adds for a requested goal."""
    return "" if goal is None else f" past the goal {goal:g}"


def what_fills(
    workloads: Iterable[str],
    releases: Sequence[str],
    trainable: frozenset[str],
    spec: FigureSpec,
) -> str:
    """Return the commands that add a figure's workloads, as the end of a sentence; "" for none.

    The published release does, where it is not one of those that lack them and has the figure's.
    """
    names = list(dict.fromkeys(workloads))
    published = {each.workload for each in catalog()}
    ways = []
    if spec.in_published and PUBLISHED not in releases and published.intersection(names):
        how = "`dbtool fetch` and `dbtool import batch_science_data.tar.bz2`"
        ways.append(f"the published release ({how})")
    producible = [name for name in names if name in trainable]
    measured = f" --measure {spec.measure}" * bool(spec.measure)
    commands = [f"`dbtool produce {name}{measured}`" for name in producible[:MOST_COMMANDS]]
    if commands:
        more = len(producible) - len(commands)
        ways.append(", ".join(commands) + (f" and {more} more like these" if more else ""))
    return " or ".join(ways)
