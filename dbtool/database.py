"""The database of a Python user and of the command line: what can be asked of releases."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.core.errors import DbtoolError, unknown
from dbtool.store.locations import named_location
from dbtool.store.opening import FETCH_UP_TO, open_location
from dbtool.store.questions import known_release
from dbtool.store.releases import Releases
from dbtool.store.result import names_uncut

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    import polars as pl

    from dbtool.figures.plot import Plot
    from dbtool.release.selection import ExportedStudy
    from dbtool.report import ScalingReport


class Database(Releases):
    """Releases that are open to read; made by `dbtool.open`, closed by a `with` or `close`.

    Beside the rows of releases it gives what follows from them: how far larger batches help,
    figures, files of other formats, references.
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
    ) -> ScalingReport:
        """Tell how far larger batches help on workloads, and how sure that is.

        The report is words where it is printed or shown by a notebook; its `rows` are frames. See
        docs/scaling.md for the definitions.

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

        Raises:
            UsageError: a name is not there, a number is out of range, or a workload has no goal of
                its own for the metric.

        Example:
            >>> report = db.scaling("mnist/fc_64_64_64/sgd")
            >>> report.rows("critical").select("definition", "verdict").rows()
            [('tradeoff', 'identified'), ('overhead', 'identified')]
        """
        from dbtool.analysis.answers import answers_of_trials
        from dbtool.analysis.scaling import Settings
        from dbtool.report import ScalingReport

        settings = Settings(level=level, overhead=overhead, start=start, trials=trials)
        crossings = self.crossings(workload, goal=goal, metric=metric, release=release)
        return ScalingReport(answers_of_trials(crossings, settings), settings, self, crossings)

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
            <Plot steps: Steps to result against batch size, 17 points>
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

    def export(
        self,
        out: str | os.PathLike[str],
        workload: str | Iterable[str] | None = None,
        *,
        file_format: str | None = None,
        batch_size: int | Iterable[int] | None = None,
        release: str | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> list[ExportedStudy]:
        """Write measurements by release, workload, batch size, trial and step into a new file.

        Memory holds some hundred thousand of them at a time, or one trial's.

        Args:
            out: the file, or for the format original the folder or tar file.
            workload: names or patterns; None: all.
            file_format: parquet, csv, jsonl, arrow, duckdb, or original, the layout of the archive
                of 2018; None: what the name of the file ends with.
            batch_size: of studies with these batch sizes alone.
            release: of this release alone.
            on_progress: called now and then with the number of measurements that are written and
                that of all.

        Returns:
            The studies that were written.

        Raises:
            UsageError: the file is there already, a name is not, or the layout cannot hold what was
                chosen.
            DbtoolError: a shard is damaged, or writing failed; nothing is left of it then.

        Example:
            >>> db.export("mnist.parquet", "mnist/*")  # doctest: +SKIP
        """
        from dbtool.release.export import export
        from dbtool.release.file_format import FileFormat, file_format_of

        path = Path(out)
        if file_format is not None and file_format not in [*FileFormat]:
            raise unknown("format", file_format, FileFormat, "dbtool export --help")
        chosen = FileFormat(file_format) if file_format else file_format_of(path)
        return export(
            self,
            path,
            chosen,
            workload,
            batch_size=batch_size,
            release=release,
            on_progress=on_progress,
        )

    def cite(self, *, release: str | None = None) -> str:
        """Return BibTeX entries: the two papers, dbtool, and what releases give.

        Args:
            release: of this release alone.

        Raises:
            UsageError: there is no such release.
        """
        from dbtool.release.references import bibtex

        return bibtex(self, known_release(self, release))


def open_database(
    source: str | os.PathLike[str] | None = None,
    *,
    release: str | None = None,
    option: str = "--db",
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    fetch_up_to: int = FETCH_UP_TO,
) -> Database:
    """Opens releases to read; see `dbtool.open`.

    Args:
        source: a release folder, a folder of them, or the URL of one; None: as the command line.
        release: the release that questions are about unless they name another; None: all.
        option: what the person named the source with, for messages.
        on_progress: see `Database`.
        fetch_up_to: bytes of shards that a query may fetch from a server.

    Raises:
        UsageError: there is no such release.
        DbtoolError: it cannot be opened.
    """
    opened = open_location(named_location(source, option), fetch_up_to)
    try:
        return Database(opened, release=release, on_progress=on_progress)
    except BaseException:
        opened.close()
        raise


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
