"""What Python users ask: a database, with what is told of its measurements."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from dbtool.core.errors import DbtoolError
from dbtool.store import database
from dbtool.store.result import names_uncut

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from dbtool.figures.plot import Plot


class Database(database.Database):
    """Releases that are open to read; made by `dbtool.open`, closed by a `with` or `close`.

    Workloads are named by their names or by patterns as on the command line, in which `*`, `?` and
    `[]` stand for other letters and `*` for slashes too; several are given as a list. Everything
    that names rows is checked: what is not there raises a `UsageError` with the closest names that
    are. Threads may share one.
    """

    def _repr_html_(self) -> str:
        """What it holds and what to ask next, as notebooks show it."""
        about = f"<p>{escape(repr(self))}</p>"
        try:
            releases, workloads = self.releases(), self.workloads(release=self.release)
        except DbtoolError as error:
            return f"{about}<p>{escape(str(error))}</p>"
        columns = ["release", "workloads", "studies", "trials", "measurements", "title"]
        with names_uncut(thousands_separator=",", tbl_hide_column_data_types=True):
            return f"{about}{releases.select(columns)._repr_html_()}{_next(workloads)}"

    def scaling(
        self,
        workload: str | Iterable[str],
        *,
        goal: float | None = None,
        metric: str | None = None,
        trials: int | None = None,
        overhead: float = 0.2,
        start: float | None = None,
        level: float = 0.95,
        release: str | None = None,
        rows: str = "critical",
    ) -> pl.DataFrame:
        """How far larger batches help: a row a workload and definition of the critical batch size.

        See docs/scaling.md for the definitions and the columns.

        Args:
            workload: names or patterns.
            goal: the value to get past; None: each workload's own goal.
            metric: the column that is to pass it; None: each workload's own metric.
            trials: compare the best of so many; None: of as many as every study has.
            overhead: the share by which steps exceed linear scaling at the critical batch size of
                that definition.
            start: the batch size from which scaling is linear; None: the smallest.
            level: of all intervals.
            release: of this release alone.
            rows: of this kind in place of critical: regimes, steps, learning_rates, noise_scale,
                comparison or profiles.

        Raises:
            UsageError: a name is not there, or a workload has no goal of its own for the metric.

        Example:
            >>> rows = db.scaling("mnist/fc_64_64_64/sgd")
            >>> rows.select("definition", "verdict").rows()
            [('tradeoff', 'identified'), ('overhead', 'identified')]
        """
        from dbtool.analysis.scaling import Settings
        from dbtool.analysis.tables import found_in_database

        settings = Settings(level=level, overhead=overhead, start=start, trials=trials)
        found = found_in_database(
            self, workload, settings, goal=goal, metric=metric, release=release
        )
        return found.rows(rows)

    def plot(
        self,
        figure: str,
        *,
        workload: str | Iterable[str] | None = None,
        goal: float | None = None,
        trials: int | None = None,
        bands: bool | None = None,
        through: str | None = None,
        release: str | None = None,
        width: float | None = None,
    ) -> Plot:
        """A figure, which a notebook shows; `.points` are its rows, `.save(file)` writes it.

        Args:
            figure: its name or number, as `dbtool plot --list` gives them.
            workload: names or patterns, for the figures of any workloads.
            goal: the value to get past; None: each workload's own goal.
            trials: the first of each study to use; None: as the figure says.
            bands: whether curves have bands; None: those of the figures of any workloads.
            through: "first" hangs lines of perfect scaling on the first point, as the papers do.
            release: the release to draw from, or several joined by commas; None: the one with the
                most studies of the figure.
            width: in inches; None: as wide as suits its panels.

        Raises:
            UsageError: there is no such figure, release or workload.
            DbtoolError: there are no rows for it.

        Example:
            >>> db.plot("steps", workload="mnist/fc_64_64_64/sgd")
            <Plot steps: Steps to result against batch size, 13 points>
        """
        from dbtool.figures.plot import plot
        from dbtool.figures.points import Request

        names = (workload,) if isinstance(workload, str) else workload
        request = Request(
            release=release if release is not None else self.release,
            trials=trials,
            goal=goal,
            workloads=None if names is None else tuple(names),
            through=through,
            bands=bands,
        )
        return plot(self, figure, request, width)


def _next(workloads: pl.DataFrame) -> str:
    """What to type next, about the workload that can tell most."""
    if workloads.is_empty():
        return ""
    rows = workloads.rows(named=True)
    largest = max(rows, key=lambda row: (row["goal"] is not None, row["studies"]))
    name = repr(largest["workload"])
    calls = [
        "workloads()",
        f"steps_to_result({name})",
        f"scaling({name})",
        f"plot('steps', workload={name})",
        f"measurements({name})",
        'sql("SELECT * FROM trials LIMIT 10")',
    ]
    lines = "\n".join(f"db.{call}" for call in calls)
    return f"<p>Next:</p><pre>{escape(lines, quote=False)}</pre>"
