"""Releases that are open to read, and the questions that they answer."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Self

import duckdb

from dbtool.core.checks import require_whole
from dbtool.core.errors import DbtoolError, UsageError, closest
from dbtool.core.resources import query
from dbtool.store.analyses import query_text
from dbtool.store.mistakes import explained
from dbtool.store.questions import (
    FIRST_TRIALS,
    Question,
    chosen_studies,
    chosen_trials,
    known_release,
    require_goals,
    require_metric,
    workload_names,
)
from dbtool.store.result import Result
from dbtool.store.statements import end_queries, interruptible, one_query, require_text, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import TracebackType

    import polars as pl

    from dbtool.store.opening import Opened

CLOSED = "the database was closed: open it again with dbtool.open()"


class Releases:
    """Releases that are open to read, and the questions about their rows.

    Workloads are named by their names or by patterns as on the command line, in which `*`, `?` and
    `[]` stand for other letters and `*` for slashes too; several are given as a list. Names and
    numbers are checked: what is missing or out of range raises a `UsageError` with the closest
    valid choices. Threads may share one.

    Attributes:
        opened: the releases.
    """

    def __init__(
        self,
        opened: Opened,
        *,
        release: str | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        """Takes over what was opened.

        Args:
            opened: from `open_location`; closed by `close`.
            release: the release that questions are about unless they name another; None: all.
            on_progress: called with bytes done and of all while shards are looked at, which happens
                before the first question about measurements.

        Raises:
            UsageError: there is no such release.
        """
        self.opened = opened
        self._on_progress = on_progress
        self._release: str | None = None
        self._release = known_release(self, release)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        of = f", release={self._release!r}" if self._release else ""
        return f"<dbtool.Database {self.opened.name}{of}>"

    @property
    def release(self) -> str | None:
        """The release that questions are about unless they name another, or None for all."""
        return self._release

    def close(self) -> None:
        """Closes it; frames and results that were read stay."""
        self.opened.close()

    @contextlib.contextmanager
    def cursor(
        self, *, measurements: bool = True, tables: Mapping[str, object] | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A DuckDB cursor of its own for the block, for what the methods here do not do.

        It can only read. An error or Ctrl-C in the block ends what it runs.

        Args:
            measurements: whether its queries read measurements, whose files are then looked at.
            tables: that its queries may read besides; see `sql`.

        Raises:
            UsageError: a table cannot be had.
            DbtoolError: a query failed, a shard is damaged, or the database was closed.
            KeyboardInterrupt: the person pressed Ctrl-C while a query ran.
        """
        if measurements:
            self.opened.begin_query(self._on_progress)
        try:
            with interruptible():
                cursor = self.opened.cursor()
                try:
                    if tables:
                        # Polars reads them, which takes as long to import as a small query runs.
                        from dbtool.store.tables import add_tables

                        add_tables(cursor, tables)
                    # EXPLAIN ANALYZE runs what it explains, which may be more than a query.
                    cursor.execute("BEGIN TRANSACTION READ ONLY")
                    yield cursor
                    if self.opened.closed:
                        # Then rows end without an error where DuckDB hands them over in batches.
                        raise DbtoolError(CLOSED)
                finally:
                    # What was not read to its end still runs in other threads; letting go of the
                    # cursor would wait for it.
                    end_queries(cursor)
        except duckdb.ConnectionException as error:
            raise DbtoolError(CLOSED) from error
        except duckdb.Error as error:
            raise DbtoolError(CLOSED if self.opened.closed else explained(error)) from error

    def sql(
        self, text: str, /, *, tables: Mapping[str, object] | None = None, **values: object
    ) -> Result:
        """The rows of one SQL query, which can only read these releases.

        Args:
            text: a SELECT over the views releases, workloads, studies, trials, measurements and
                evaluations of all releases, with $NAME where a value belongs; or the name of an
                analysis that ships, such as "summary".
            tables: of your own that the query joins, by the names that it has for them: CSV,
                Parquet or JSON Lines files, or frames of Polars, pandas or Arrow.
            values: the values by their names.

        Raises:
            UsageError: the query has a $NAME that was given no value, or the other way round, or
                no analysis has that name, or a table cannot be read or has a view's name.
            DbtoolError: it is not one query, or fails.
            KeyboardInterrupt: the person pressed Ctrl-C; the database answers on.

        Example:
            >>> query = "SELECT max(batch_size) FROM studies WHERE workload = $name"
            >>> db.sql(query, name="mnist/fc_64_64_64/sgd").rows()
            [(55000,)]
        """
        text = query_text(text)
        with self.cursor(tables=tables) as cursor:
            statement = one_query(cursor, text)
            check_values(statement.named_parameters, values)
            return Result(table_of(cursor, statement, values))

    def result(self, question: Question) -> Result:
        """The rows of a question."""
        with self.cursor(measurements=question.measurements) as cursor:
            return Result(table_of(cursor, question.sql, question.values))

    def _frame(self, name: str, *, measurements: bool = False, **values: object) -> pl.DataFrame:
        """The rows of one of the queries in queries/browse."""
        return self.result(Question(query(name), values, measurements)).polars()

    def releases(self) -> pl.DataFrame:
        """The releases with their titles, licences and sizes, a row a release."""
        return self._frame("releases")

    def workloads(self, *, release: str | None = None) -> pl.DataFrame:
        """The workloads with their goals and sizes, a row a workload of a release.

        Args:
            release: of this release alone.

        Raises:
            UsageError: there is no such release.
        """
        return self._frame("workloads", release=known_release(self, release))

    def studies(
        self, workload: str | Iterable[str] | None = None, *, release: str | None = None
    ) -> pl.DataFrame:
        """The studies, a row for each batch size of a workload.

        Args:
            workload: names or patterns; None: all.
            release: of this release alone.

        Raises:
            UsageError: a name is not there.
        """
        release = known_release(self, release)
        names = workload_names(self, workload, release)
        return self._frame("studies", workloads=names, release=release)

    def trials(
        self,
        workload: str | Iterable[str] | None = None,
        *,
        batch_size: int | Iterable[int] | None = None,
        release: str | None = None,
    ) -> pl.DataFrame:
        """The trials with their metaparameters and how they ended, a row a trial.

        Args:
            workload: names or patterns; None: all.
            batch_size: of studies with these batch sizes alone.
            release: of this release alone.

        Raises:
            UsageError: a name is not there.

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
        """The measurements as a lazy frame, a row for each step of a trial at which there are any.

        Its columns are those of the view, then learning_rate and momentum of the row's trial; other
        metaparameters come with a join of `trials`. Nothing is read before `collect`, and then the
        columns that are used alone, of the rows that are named here; filters of the frame come
        after that. Rows come in no promised order. `print` of the frame tells which rows it holds.

        Args:
            workload: names or patterns; None: all.
            batch_size: of studies with these batch sizes alone.
            trial_id: of these trials of each study alone.
            release: of this release alone.

        Raises:
            UsageError: a name is not there.

        Example:
            >>> curve = db.measurements("mnist/fc_64_64_64/sgd", batch_size=64, trial_id=0)
            >>> curve = curve.select("step", "val_classification_error").drop_nulls()
            >>> curve.sort("step").head(2).collect().rows()
            [(0, 0.9366), (64, 0.179)]
        """
        from dbtool.store.lazy import lazy_measurements

        chosen = chosen_studies(self, workload, batch_size, release)
        chosen["trials"] = chosen_trials(self, chosen, trial_id)
        if workload is None:
            chosen["workloads"] = None
        return lazy_measurements(self, Question(query("measurements"), chosen, measurements=True))

    def steps_to_result(
        self,
        workload: str | Iterable[str],
        *,
        goal: float | None = None,
        metric: str | None = None,
        trials: int = FIRST_TRIALS,
        batch_size: int | Iterable[int] | None = None,
        release: str | None = None,
    ) -> pl.DataFrame:
        """The steps to result of workloads, a row a study.

        The fewest steps any of the first trials of a study that count took to get strictly past the
        goal, or to it where the workload's goal is inclusive; null where no trial did.

        Args:
            workload: names or patterns.
            goal: the value to get past; None: each workload's own goal.
            metric: the column that is to pass it; None: each workload's own metric.
            trials: of each study, so many of the first trials count.
            batch_size: of studies with these batch sizes alone.
            release: of this release alone.

        Raises:
            UsageError: a name is not there, or a workload has no goal of its own for the metric.

        Example:
            >>> steps = db.steps_to_result("mnist/fc_64_64_64/sgd", batch_size=[16, 64, 256])
            >>> steps.select("batch_size", "steps").rows()
            [(16, 5999), (64, 1676), (256, 770)]
        """
        chosen = chosen_studies(self, workload, batch_size, release)
        require_metric(self, metric)
        require_goals(self, chosen, metric, goal)
        values = chosen | {
            "metric": metric,
            "goal": goal,
            "trials": require_whole("trials", trials),
        }
        return self._frame("steps", measurements=True, **values)

    def crossings(
        self,
        workload: str | Iterable[str],
        *,
        goal: float | None = None,
        metric: str | None = None,
        release: str | None = None,
    ) -> pl.DataFrame:
        """When each trial of workloads passed the goal, a row a trial.

        `steps` is the first evaluation past the goal, null where there is none, and `after` the
        last evaluation before it.

        Args:
            workload: names or patterns.
            goal: the value to get past; None: each workload's own goal.
            metric: the column that is to pass it; None: each workload's own metric.
            release: of this release alone.

        Raises:
            UsageError: a name is not there, or a workload has no goal of its own for the metric.

        Example:
            >>> db.crossings("mnist/fc_64_64_64/sgd")["steps"].min()
            421
        """
        chosen = chosen_studies(self, workload, None, release)
        require_metric(self, metric)
        require_goals(self, chosen, metric, goal)
        return self._frame("crossings", measurements=True, **chosen, metric=metric, goal=goal)

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
        """The best measurement of each study of workloads within a budget, a row a study.

        Args:
            workload: names or patterns.
            metric: the column that counts; None: each workload's own metric. Lower is better, but
                for average precisions.
            most_steps: up to so many steps; studies whose trials train for fewer are left out.
            most_examples: up to so many training examples, which are steps times the batch size;
                studies whose trials see fewer are left out.
            trials: of each study, so many of the first trials count.
            batch_size: of studies with these batch sizes alone.
            release: of this release alone.

        Raises:
            UsageError: a name is not there.
        """
        chosen = chosen_studies(self, workload, batch_size, release)
        require_metric(self, metric)
        budget = {"most_steps": most_steps, "most_examples": most_examples}
        for name, most in budget.items():
            if most is not None:
                budget[name] = require_whole(name, most, 0)
        trials = require_whole("trials", trials)
        return self._frame(
            "best", measurements=True, **chosen, **budget, metric=metric, trials=trials
        )


def check_values(
    named: set[str], values: Mapping[str, object], remedy: str = "give it as {name}=VALUE"
) -> None:
    """Makes sure that a query's named values are those that are given.

    Args:
        named: the names in the query.
        values: by their names.
        remedy: what to do about one that is missing, with {name} for it.

    Raises:
        UsageError: one is missing, or is not in the query.
    """
    for name, value in values.items():
        if name not in named:
            near = ", ".join(f"${each}" for each in closest(name, named))
            has = f"closest: {near}" if near else "it has no parameters"
            raise UsageError(f"the query has no ${name}; {has}")
        if isinstance(value, str):
            require_text(value, f"the value of ${name}")
    for name in sorted(named - set(values)):
        raise UsageError(f"the query needs a value for ${name}; {remedy.format(name=name)}")
