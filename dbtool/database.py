"""The database of Python users and of the command line: every question about releases."""

from __future__ import annotations

import os
from functools import partial
from html import escape
from typing import TYPE_CHECKING, ClassVar

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import expanded, require_own
from dbtool.store.locations import named_location
from dbtool.store.opening import FETCH_BYTES, open_location
from dbtool.store.questions import chosen_workloads, known_release, release_and_workload
from dbtool.store.releases import Releases
from dbtool.store.result import names_uncut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import duckdb
    import polars as pl

    from dbtool.analysis.kinds import Form
    from dbtool.explorer.contents import Material
    from dbtool.figures.plot import Plot
    from dbtool.figures.specs import Caption
    from dbtool.release.selection import ExportedStudy
    from dbtool.report.scaling import ScalingReport


def _register_scaling(cursor: duckdb.DuckDBPyConnection) -> None:
    from dbtool.analysis.answers import register_scaling

    register_scaling(cursor)


def _register_rows(kind: str, cursor: duckdb.DuckDBPyConnection) -> None:
    from dbtool.report.tables import register_rows

    register_rows(cursor, kind)


class Database(Releases):
    """Releases that are open to read, from `dbtool.open`; `with` or `close` closes them.

    Beside the rows of releases it has what follows from them: how far larger batches help, figures,
    files in other formats, and references.

    Attributes:
        source: the folder or URL that was opened by name; None for the command line's default.
    """

    source: str | None
    functions: ClassVar = {
        "scaling_of_trials": _register_scaling,
        "scaling_steps": partial(_register_rows, "steps"),
        "scaling_learning_rates": partial(_register_rows, "learning_rates"),
    }

    def _repr_html_(self) -> str:
        """Return the contents and the next commands to type, as notebooks show them."""
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
        goal: float | Iterable[float] | None = None,
        metric: str | None = None,
        trials: int | None = None,
        overhead: float = 0.2,
        start: float | None = None,
        level: float = 0.95,
        curve: Form = "bent",
        against: str | None = None,
        sustained: int = 1,
        step_time: str | os.PathLike[str] | None = None,
        devices: int = 1,
        at: float | None = None,
        law: str | None = None,
        values: str | os.PathLike[str] | pl.DataFrame | None = None,
        release: str | None = None,
    ) -> ScalingReport:
        """Report how far larger batches help on workloads, with the uncertainty.

        The report prints as text, also in a notebook; its `rows` are frames. See docs/scaling.md
        for the definitions.

        Args:
            workload: names or patterns.
            goal: target value, or several; None for each workload's own goal, without releases that
                lack one.
            metric: column to compare with the goal; None for each workload's own metric.
            trials: number of trials to take the best of; None for the fewest of any study with 5 or
                more, if half of the studies have so many, else with 2 or more.
            overhead: share by which steps exceed linear scaling at the critical batch size of that
                definition.
            start: batch size from which scaling is linear; None for the smallest.
            level: level of all intervals.
            curve: `bent` for curves of any bend, or `hyperbola`.
            against: a workload, to whose critical batch size theirs are compared; where several
                releases have it, as RELEASE:WORKLOAD.
            sustained: number of evaluations in a row that have to be past the goal.
            step_time: what a step takes on one device, such as `50ms + 0.1ms*B` for B examples; or
                a CSV file with the columns batch_size and seconds. The report then has the best
                runs by time and cost.
            devices: the most for such a run, each with an equal share of a step's examples.
            at: batch size, also one between those measured, to tell steps and metaparameters of.
            law: column of workloads that critical batch sizes are a power of: of `values`, of the
                view workloads, or a number of their definitions.
            values: a table with the columns workload and that of the law.
            release: only this release.

        Raises:
            UsageError: a name does not exist, a number is out of range, or a workload has no goal
                of its own for the metric.

        Example:
            >>> report = db.scaling("mnist/fc_64_64_64/sgd")
            >>> report.rows("critical").select("definition", "verdict").rows()
            [('tradeoff', 'identified'), ('overhead', 'identified'), ('speedup', 'identified')]
        """
        import polars as pl

        from dbtool.analysis.costs import step_time as read_step_time
        from dbtool.analysis.scaling import Settings
        from dbtool.report.scaling import LawColumn, law_of_table, scaling_of_trials

        seconds = None if step_time is None else read_step_time(step_time)
        settings = Settings(level, overhead, start, trials, curve, sustained, seconds, devices, at)
        known = None
        if law is not None and values is not None:
            known = law_of_table(law, values)
        elif law is not None:
            found = self._frame("values_of_workloads", column=law)
            if found.is_empty():
                known_columns = self.workloads().select(pl.selectors.numeric()).columns
                raise UsageError(
                    f"no workload has numbers of {law!r}: name one of {', '.join(known_columns)}, "
                    "or a number of their definitions, or give a table of workloads (--with)"
                )
            known = LawColumn(law, dict(found.iter_rows()))
        goals = [goal] if goal is None or isinstance(goal, int | float) else list(goal)
        patterns = [workload] if isinstance(workload, str) else list(workload)

        def crossings(names: Iterable[str], of: str | None) -> pl.DataFrame:
            return pl.concat(
                self.crossings(names, goal=each, metric=metric, sustained=sustained, release=of)
                for each in goals
            )

        own, other = crossings(patterns, release), None
        if against is not None:
            of, name = release_and_workload(against)
            other = crossings([name], release if of is None else of)
        names = chosen_workloads(self, patterns, release)
        return scaling_of_trials(self, own, settings, names, other, known)

    def plot(
        self,
        figure: str,
        *,
        workload: str | Iterable[str] | None = None,
        goal: float | None = None,
        trials: int | None = None,
        bands: bool | None = None,
        through: str | None = None,
        sustained: int = 1,
        release: str | None = None,
        width: float | None = None,
        title: bool | None = None,
        caption: Caption | None = None,
    ) -> Plot:
        """Return a figure, which notebooks show; `.points` are its rows, `.save(file)` writes it.

        Args:
            figure: its name or number, as in `dbtool plot --list`.
            workload: names or patterns, for figures that accept any workloads.
            goal: target value; None for each workload's own goal.
            trials: number of each study's first trials to use; None for the figure's default.
            bands: whether curves have bands; None for bands on the figures that accept any
                workloads.
            through: "first" draws lines of perfect scaling through the first point, as in the
                papers.
            sustained: number of evaluations in a row that have to be past the goal.
            release: the release to draw, or several joined by commas; None for the one with the
                most studies of the figure.
            width: width in inches; None for one that suits its panels.
            title: whether there is a heading; None for one unless the figure is below 4.5 inches
                wide, for a column of print.
            caption: `figure`, or `none`; None for one unless the figure is for a column. The words
                of the caption are `.caption` of the plot.

        Raises:
            UsageError: the figure, release or workload does not exist.
            DbtoolError: there are no rows for the figure.

        Example:
            >>> db.plot("steps", workload="mnist/fc_64_64_64/sgd")
            <Plot steps: Steps to result against batch size, 17 points>
        """
        from dbtool.figures.plot import plot
        from dbtool.figures.points import Request
        from dbtool.figures.specs import FigureLayout

        if caption == "file":
            raise UsageError(
                "caption is 'file', which `dbtool plot` writes; here it is figure or none, and the "
                "plot's `.caption` has the words"
            )
        names = (workload,) if isinstance(workload, str) else workload
        request = Request(
            release=release if release is not None else self.release,
            trials=trials,
            goal=goal,
            workloads=None if names is None else tuple(names),
            through=through,
            bands=bands,
            sustained=sustained,
        )
        return plot(self, figure, request, FigureLayout(width, title, caption))

    def explore(
        self,
        out: str | os.PathLike[str] = "explorer.html",
        workload: str | Iterable[str] | None = None,
        *,
        release: str | None = None,
        trainable: Iterable[str] = (),
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
        on_message: Callable[[str], None] = lambda _line: None,
    ) -> Path:
        """Write the explorer: a page for the browser, which holds all that it shows.

        With more than ten million values the page has no curves, and of each workload only the
        metric of its goal.

        Args:
            out: the file, which ends with .html.
            workload: names or patterns; None for all.
            release: only this release.
            trainable: workloads that `dbtool produce` trains, for hints on what fills a figure.
            on_progress: called with the figures, then the workloads, that are done and their total.
            on_message: called with a sentence on what the page lacks, such as `print`.

        Returns:
            The file.

        Raises:
            UsageError: the file's name ends otherwise, another file is there, or a name does not
                exist.
            DbtoolError: the file cannot be written, a shard is damaged, or the application was not
                built.

        Example:
            >>> db.explore("mnist.html", "mnist/*")  # doctest: +SKIP
        """
        from dbtool.explorer.page import write_alone
        from dbtool.figures.batch import writing

        path = expanded(out)
        if path.suffix != ".html":
            raise UsageError(f"--out is {str(path)!r}: name a file that ends with .html")
        require_own(path)
        material = _page_material(self, workload, release, trainable, on_progress, on_message)
        options = () if self.source is None else ("--db", self.source)
        with writing(path):
            write_alone(material, path, options, on_progress)
        return path

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
        """Write measurements to a new file, by release, workload, batch size, trial and step.

        Memory holds some hundred thousand measurements at a time, or those of one trial.

        Args:
            out: the file, or for the format original a folder or tar file.
            workload: names or patterns; None for all.
            file_format: parquet, csv, jsonl, arrow, duckdb, or original, the layout of the archive
                of 2018; None for that of the file's extension.
            batch_size: only studies with these batch sizes.
            release: only this release.
            on_progress: called now and then with the measurements written and their total.

        Returns:
            The exported studies.

        Raises:
            UsageError: the output exists, a name does not, or the layout cannot represent the
                selection.
            DbtoolError: a shard is damaged, or writing failed; nothing of the output remains then.

        Example:
            >>> db.export("mnist.parquet", "mnist/*")  # doctest: +SKIP
        """
        from dbtool.release.export import export

        return export(
            self,
            expanded(out),
            file_format,
            workload,
            batch_size=batch_size,
            release=release,
            on_progress=on_progress,
        )

    def cite(self, *, release: str | None = None) -> str:
        """Return BibTeX entries of the two papers, dbtool and the releases.

        Args:
            release: only this release.

        Raises:
            UsageError: there is no such release.
        """
        from dbtool.release.citation import bibtex

        return bibtex(self, known_release(self, release))


def open_database(
    source: str | os.PathLike[str] | None = None,
    *,
    release: str | None = None,
    option: str = "--db",
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    fetch_up_to: int = FETCH_BYTES,
) -> Database:
    """Open releases as `dbtool.open` does; messages name the option that the source came with."""
    opened = open_location(named_location(source, option), fetch_up_to)
    try:
        db = Database(opened, release=release, on_progress=on_progress)
    except BaseException:
        opened.close()
        raise
    db.source = None if source is None else os.fspath(source)
    return db


def explore_beside(
    folder: Path,
    *,
    trainable: Iterable[str] = (),
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    on_message: Callable[[str], None] = lambda _line: None,
) -> list[str]:
    """Write the explorer into a release folder, for a server with both.

    Returns:
        The page and its tables, relative to the folder.

    Raises:
        DbtoolError: the application was not built, or a shard is damaged.
    """
    from dbtool.explorer.page import write_beside

    with open_database(folder) as db:
        material = _page_material(db, None, None, trainable, on_progress, on_message)
        return write_beside(material, folder, on_progress)


def _page_material(
    db: Database,
    workload: str | Iterable[str] | None,
    release: str | None,
    trainable: Iterable[str],
    on_progress: Callable[[int, int], None],
    on_message: Callable[[str], None],
) -> Material:
    from dbtool.explorer.contents import Material, choose
    from dbtool.explorer.page import require_built
    from dbtool.figures.plot import checked, packed_figures
    from dbtool.figures.points import Request
    from dbtool.figures.specs import ALL, chosen_specs
    from dbtool.figures.style import page_looks
    from dbtool.release.citation import bibtex

    release = known_release(db, release)
    names = (workload,) if isinstance(workload, str) else workload
    names = None if names is None else tuple(names)
    chosen = choose(db, names, release)
    require_built()
    if chosen.is_large:
        on_message(
            "left out for want of room: all curves, and metrics that are not of a workload's goal"
        )
    asked = Request(release, workloads=names, trainable=frozenset(trainable))
    specs = chosen_specs([ALL], any_workloads=names is not None)
    figures = packed_figures(db, specs, checked(db, asked), on_progress)
    return Material(db, chosen, figures, bibtex(db, release), page_looks())


def _next(workloads: pl.DataFrame) -> str:
    """Return the calls to type next, for the workload with a goal and the most studies."""
    if workloads.is_empty():
        return ""
    rows = workloads.rows(named=True)
    largest = max(rows, key=lambda row: (row["goal"] is not None, row["studies"]))
    name = repr(largest["workload"])
    calls = [
        "workloads()",
        f"steps({name})",
        f"scaling({name})",
        f"plot('steps', workload={name})",
        f"measurements({name})",
        'sql("SELECT * FROM trials LIMIT 10")',
    ]
    lines = "\n".join(f"db.{call}" for call in calls)
    return f"<p>Next:</p><pre>{escape(lines, quote=False)}</pre>"
