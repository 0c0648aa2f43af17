"""Releases that are open to read, and the questions about their rows."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import duckdb

from dbtool.core.checks import require_whole
from dbtool.core.errors import DbtoolError, UsageError, unknown
from dbtool.core.resources import query
from dbtool.store.questions import (
    FIRST_TRIALS,
    Question,
    check_values,
    chosen_studies,
    chosen_trials,
    chosen_workloads,
    explained,
    known_release,
    passage_query,
    query_text,
    require_metric,
    with_goals,
)
from dbtool.store.result import Result, lazy_measurements
from dbtool.store.statements import end_queries, interruptible, one_query, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import polars as pl

    from dbtool.store.opening import Opened

_REGISTERING = threading.Lock()
CLOSED = "the database was closed: open it again with dbtool.open()"


class Releases:
    """Releases that are open to read, with methods for questions about their rows.

    For example, `"mnist/*"` names all workloads of MNIST. In patterns, `*`, `?` and `[]` match as
    in a shell, and `*` also matches slashes; several names or patterns form a list. Names and
    numbers are checked: a missing or invalid one raises a `UsageError` with the closest valid
    choices. Threads may share one object.

    Attributes:
        opened: the open releases.
        functions: by the name of each SQL function in Python what registers it on a cursor.
    """

    functions: ClassVar[Mapping[str, Callable[[duckdb.DuckDBPyConnection], None]]] = {}

    def __init__(
        self,
        opened: Opened,
        *,
        release: str | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        """Wrap open releases.

        Args:
            opened: from `open_location`; `close` closes it.
            release: default release of all questions; None for all releases.
            on_progress: called with the bytes done and the total bytes while shards are checked,
                which happens before the first question about measurements.

        Raises:
            UsageError: there is no such release.
        """
        self.opened = opened
        self._on_progress = on_progress
        self._release: str | None = None
        self._release = known_release(self, release)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        of = f", release={self._release!r}" if self._release else ""
        return f"<dbtool.Database {self.opened.name}{of}>"

    @property
    def release(self) -> str | None:
        """The default release of all questions, or None for all releases."""
        return self._release

    def close(self) -> None:
        """Close the releases; frames and results that were read stay valid."""
        self.opened.close()

    @contextlib.contextmanager
    def cursor(
        self,
        text: str = "",
        *,
        measurements: bool = True,
        tables: Mapping[str, object] | None = None,
        writes: bool = False,
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a new DuckDB cursor, for queries beyond the methods here.

        The cursor can only read, unless it is to write, and the block is one transaction. An error
        or Ctrl-C in the block ends its query.

        Args:
            text: the query, which may name `functions`.
            measurements: whether its queries read measurements, whose files are then checked.
            tables: further tables for its queries; see `sql`.
            writes: whether its statements may change what is computed of the releases.

        Raises:
            UsageError: a table is not available.
            DbtoolError: a query failed, a shard is damaged, or the database was closed.
            KeyboardInterrupt: the user pressed Ctrl-C while a query ran.
        """
        named = [name for name in self.functions if name in text]
        reading = self.opened.query(self._on_progress) if measurements else contextlib.nullcontext()
        # Functions are those of one transaction; in two at once they would be a conflict.
        registering = _REGISTERING if named else contextlib.nullcontext()
        try:
            with reading, interruptible(), registering:
                cursor = self.opened.cursor()
                try:
                    if tables:
                        # This imports Polars, which takes as long as a small query.
                        from dbtool.store.tables import add_tables

                        add_tables(cursor, tables)
                    # EXPLAIN ANALYZE runs its statement, which may do more than read.
                    cursor.execute("BEGIN" if writes else "BEGIN TRANSACTION READ ONLY")
                    for name in named:
                        self.functions[name](cursor)
                    yield cursor
                    if writes:
                        cursor.execute("COMMIT")
                    if self.opened.closed:
                        # After a close, DuckDB ends the batches of rows without an error.
                        raise DbtoolError(CLOSED)
                finally:
                    # A query with unread rows still runs in other threads, and deleting the cursor
                    # would wait for it.
                    end_queries(cursor)
                    if named:
                        _forget(cursor, named)
        except duckdb.Error as error:
            closed = self.opened.closed or isinstance(error, duckdb.ConnectionException)
            raise DbtoolError(CLOSED if closed else explained(error)) from error

    def sql(
        self, text: str, /, *, tables: Mapping[str, object] | None = None, **values: object
    ) -> Result:
        """Return the rows of one SQL query, which can only read these releases.

        Args:
            text: a SELECT over the views releases, workloads, studies, trials, measurements and
                evaluations of all releases, with $NAME for a value; or the name of an analysis that
                ships, such as "summary".
            tables: your own tables to join, by their names in the query: CSV, Parquet or JSON Lines
                files, or frames of Polars, pandas or Arrow.
            values: values by name.

        Raises:
            UsageError: a $NAME has no value or a value no $NAME, no analysis has that name, or a
                table cannot be read or has the name of a view.
            DbtoolError: the text is not one query, or the query fails.
            KeyboardInterrupt: the user pressed Ctrl-C; the database stays usable.

        Example:
            >>> query = "SELECT max(batch_size) FROM studies WHERE workload = $name"
            >>> db.sql(query, name="mnist/fc_64_64_64/sgd").rows()
            [(55000,)]
        """
        text = query_text(text)
        with self.cursor(text, tables=tables) as cursor:
            statement = one_query(cursor, text)
            check_values(statement.named_parameters, values)
            return Result(table_of(cursor, statement, values))

    def result(self, question: Question) -> Result:
        """Return the rows of a question."""
        with self.cursor(str(question.sql), measurements=question.measurements) as cursor:
            return Result(table_of(cursor, question.sql, question.values))

    def _frame(self, name: str, *, measurements: bool = False, **values: object) -> pl.DataFrame:
        """Return the rows of one of the queries in queries/browse."""
        return self.result(Question(query(name), values, measurements)).polars()

    def releases(self) -> pl.DataFrame:
        """Return the releases with their titles, licences and sizes, one row per release."""
        return self._frame("releases")

    def workloads(
        self, workload: str | Iterable[str] | None = None, *, release: str | None = None
    ) -> pl.DataFrame:
        """Return the workloads with their goals and sizes, one row per workload of a release.

        Names or patterns choose workloads; None is all of them. A missing name is a `UsageError`.
        """
        release = known_release(self, release)
        names = chosen_workloads(self, workload, release)
        return self._frame("workloads", workloads=names, release=release)

    def studies(
        self, workload: str | Iterable[str] | None = None, *, release: str | None = None
    ) -> pl.DataFrame:
        """Return the studies, one row per workload and batch size.

        Names or patterns choose workloads; None is all of them. A missing name is a `UsageError`.
        """
        release = known_release(self, release)
        names = chosen_workloads(self, workload, release)
        return self._frame("studies", workloads=names, release=release)

    def trials(
        self,
        workload: str | Iterable[str] | None = None,
        *,
        batch_size: int | Iterable[int] | None = None,
        release: str | None = None,
    ) -> pl.DataFrame:
        """Return the trials with their metaparameters and status, one row per trial.

        Args:
            workload: names or patterns; None for all.
            batch_size: only studies with these batch sizes.
            release: only this release.

        Raises:
            UsageError: a name does not exist.

        Example:
            >>> trials = db.trials("mnist/fc_64*", batch_size=64)
            >>> sorted(set(trials["status"])), trials.height
            (['COMPLETE', 'INCOMPLETE', 'INFEASIBLE'], 50)
        """
        return self._frame("trials", **chosen_studies(self, workload, batch_size, release))

    def measurements(
        self,
        workload: str | Iterable[str] | None = None,
        *,
        batch_size: int | Iterable[int] | None = None,
        trial_id: int | Iterable[int] | None = None,
        release: str | None = None,
    ) -> pl.LazyFrame:
        """Return the measurements as a lazy frame, one row per measured step of a trial.

        Its columns are those of the view measurements, then learning_rate and momentum of the row's
        trial; join `trials` for other metaparameters. Nothing is read before `collect`, which reads
        only the columns in use, of the rows that the arguments select; filters of the frame apply
        afterwards. The order of rows is not defined. `print` of the frame shows which rows it
        selects.

        Args:
            workload: names or patterns; None for all.
            batch_size: only studies with these batch sizes.
            trial_id: only these trials of each study.
            release: only this release.

        Raises:
            UsageError: a name does not exist.

        Example:
            >>> curve = db.measurements("mnist/fc_64_64_64/sgd", batch_size=64, trial_id=0)
            >>> curve = curve.select("step", "val_classification_error").drop_nulls()
            >>> curve.sort("step").head(2).collect().rows()
            [(0, 0.9366), (64, 0.179)]
        """
        chosen = chosen_studies(self, workload, batch_size, release)
        chosen["trials"] = chosen_trials(self, chosen, trial_id)
        if workload is None:
            chosen["workloads"] = None
        return lazy_measurements(self.cursor, query("measurements"), chosen)

    def steps(
        self,
        workload: str | Iterable[str],
        *,
        goal: float | None = None,
        metric: str | None = None,
        trials: int = FIRST_TRIALS,
        sustained: int = 1,
        by: Literal["steps", "seconds", "examples"] = "steps",
        batch_size: int | Iterable[int] | None = None,
        release: str | None = None,
    ) -> pl.DataFrame:
        """Return the steps to result of workloads, one row per study.

        The steps to result are the fewest steps that any of a study's first `trials` trials takes
        to get strictly past the goal, or to reach it where the workload's goal is inclusive. They
        are null where no trial does; where `stopped_at` is not, the search ended before the goal
        and they are unknown. Trials with equal metaparameters and other seeds are replicates, of
        which the median counts; trial_id is the middle one.

        Args:
            workload: names or patterns.
            goal: target value; None for each workload's own goal, without releases that lack one.
            metric: column, or one of other_metrics, to compare with the goal; None for each
                workload's own metric.
            trials: number of each study's first trials to count.
            sustained: number of evaluations in a row that have to be past the goal; the steps are
                those of the first of them.
            by: `seconds` for the time since training began in place of steps, where a source tells
                it. `examples` for the training examples of these steps, whose batches may grow.
            batch_size: only studies with these batch sizes.
            release: only this release.

        Raises:
            UsageError: a name does not exist, a workload has no goal of its own for the metric, or
                no source of the workloads tells seconds.

        Example:
            >>> steps = db.steps("mnist/fc_64_64_64/sgd", batch_size=[16, 64, 256])
            >>> steps.select("batch_size", "steps").rows()
            [(16, 5999), (64, 1676), (256, 770)]
        """
        chosen = chosen_studies(self, workload, batch_size, release)
        require_metric(self, metric, chosen)
        chosen = with_goals(self, chosen, workload, metric, goal)
        values = chosen | {
            "metric": metric,
            "goal": goal,
            "trials": require_whole("trials", trials),
        }
        units = ("steps", "seconds", "examples")
        if by not in units:
            raise unknown("unit", str(by), units, "dbtool steps --help")
        sustained = require_whole("sustained", sustained)
        text = passage_query(query("steps"), sustained, seconds=by == "seconds")
        rows = self.result(Question(text, values, measurements=True)).polars()
        if by == "examples":
            return rows.drop("steps")
        rows = rows.drop("examples")
        if by == "steps":
            return rows
        if rows["steps"].null_count() == len(rows):
            raise UsageError(
                "no run of these workloads that reached the goal tells how long it took: leave out "
                "--by, or import runs that do, such as those of `dbtool fetch mlperf`"
            )
        return rows.rename({"steps": "seconds"})

    def crossings(
        self,
        workload: str | Iterable[str],
        *,
        goal: float | None = None,
        metric: str | None = None,
        sustained: int = 1,
        release: str | None = None,
    ) -> pl.DataFrame:
        """Return when each trial of workloads passed the goal, one row per trial.

        `steps` is the first evaluation past the goal, null where there is none. `after` is the last
        evaluation before it. `setting` is equal for replicates and null for trials without any.

        Args:
            workload: names or patterns.
            goal: target value; None for each workload's own goal, without releases that lack one.
            metric: column, or one of other_metrics, to compare with the goal; None for each
                workload's own metric.
            sustained: number of evaluations in a row that have to be past the goal.
            release: only this release.

        Raises:
            UsageError: a name does not exist, or a workload has no goal of its own for the metric.

        Example:
            >>> db.crossings("mnist/fc_64_64_64/sgd")["steps"].min()
            421
        """
        chosen = chosen_studies(self, workload, None, release)
        require_metric(self, metric, chosen)
        chosen = with_goals(self, chosen, workload, metric, goal)
        values = chosen | {"metric": metric, "goal": goal}
        text = passage_query(query("crossings"), require_whole("sustained", sustained))
        return self.result(Question(text, values, measurements=True)).polars()

    def best(
        self,
        workload: str | Iterable[str],
        *,
        metric: str | None = None,
        most_steps: int | None = None,
        most_examples: int | None = None,
        trials: int = FIRST_TRIALS,
        batch_size: int | Iterable[int] | None = None,
        release: str | None = None,
    ) -> pl.DataFrame:
        """Return the best measurement of each study within a budget, one row per study.

        Of replicates the median of their best values counts; trial_id and step are those of the
        middle one.

        Args:
            workload: names or patterns.
            metric: column, or one of other_metrics; None for each workload's own metric. Its name
                tells whether higher is better, see docs/glossary.md.
            most_steps: largest number of steps; studies whose trials train for fewer are dropped.
            most_examples: largest number of training examples, which are steps times the batch
                size; studies whose trials see fewer are dropped.
            trials: number of each study's first trials to count.
            batch_size: only studies with these batch sizes.
            release: only this release.

        Raises:
            UsageError: a name does not exist.
        """
        chosen = chosen_studies(self, workload, batch_size, release)
        require_metric(self, metric, chosen)
        budget = {"most_steps": most_steps, "most_examples": most_examples}
        for name, most in budget.items():
            if most is not None:
                budget[name] = require_whole(name, most, 0)
        trials = require_whole("trials", trials)
        return self._frame(
            "best", measurements=True, **chosen, **budget, metric=metric, trials=trials
        )


def _forget(cursor: duckdb.DuckDBPyConnection, functions: Iterable[str]) -> None:
    """End the transaction of a cursor and its functions, which Python would report as leaked."""
    for name in functions:
        with contextlib.suppress(duckdb.Error):
            cursor.remove_function(name)
    with contextlib.suppress(duckdb.Error):
        cursor.execute("ROLLBACK")
