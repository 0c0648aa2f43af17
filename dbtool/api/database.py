"""A database that is open to read, and the questions that can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from dbtool.api.asking import asking
from dbtool.api.fetching import say_what_is_fetched
from dbtool.api.readers import Readers
from dbtool.api.result import Result
from dbtool.errors import UsageError, unknown
from dbtool.resources import query
from dbtool.store.names import (
    check_batch_sizes,
    check_columns,
    check_release,
    check_trials,
    matching_workloads,
)
from dbtool.store.questions import FIRST_TRIALS, Asked, best_measurements, steps_to_result
from dbtool.store.statements import one_query

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    import duckdb
    import polars as pl


class Database:
    """A database that is open to read; made by `dbtool.open`, and closed by a `with` or `close`.

    Workloads are named by their names or by patterns as on the command line, in which `*`, `?` and
    `[]` stand for other letters and `*` for slashes too; several are given as a list. Everything
    that names rows is checked: what the database does not hold raises a `UsageError` with the
    closest names that it does. Threads may share one.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, *, name: str, release: str | None = None
    ) -> None:
        """Takes over a connection.

        Args:
            connection: to anything with the schema's views and macros; closed by `close`.
            name: what to call the database where it is shown.
            release: the release that questions are about unless they name another; None: all.

        Raises:
            UsageError: there is no such release.
            DbtoolError: the releases cannot be read.
        """
        self._connection = connection
        self._readers = Readers()
        self._name = name
        self._release = release
        with asking(connection) as cursor:
            check_release(cursor, release)

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
        return f"<dbtool.Database {self._name}{of}>"

    @property
    def release(self) -> str | None:
        """The release that questions are about unless they name another; None: all."""
        return self._release

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB cursor of its own, for what the methods here do not do; it can only read.

        Of a release on a server, fetch all rows of a query before the cursor is let go of, or run
        another query on it: one that still runs then may wait for ever.

        Raises:
            duckdb.ConnectionException: the database was closed.
        """
        return self._connection.cursor()

    def close(self) -> None:
        """Closes the database; frames and results that were read stay."""
        self._readers.close()
        self._connection.close()

    def sql(self, text: str, /, **values: object) -> Result:
        """The rows of one SQL query, which can only read this database.

        Where it will fetch more than 100 MB from a server, that is said on standard error.

        Args:
            text: a SELECT over the views releases, workloads, studies, trials and measurements of
                all releases, with $NAME where a value belongs.
            values: the values by their names.

        Raises:
            UsageError: the query has a $NAME that was given no value, or the other way round.
            DbtoolError: it is not one query, or fails.
            KeyboardInterrupt: the person pressed Ctrl-C; the database answers on.

        Example:
            >>> db.sql("SELECT max(steps) FROM trials WHERE batch_size >= $least", least=64).rows()
            [(5107,)]
        """
        with asking(self._connection) as cursor:
            statement = one_query(cursor, text)
            _check_values(statement.named_parameters, values)
            say_what_is_fetched(self._connection, text, values)
            return Result(cursor.execute(statement, values).to_arrow_table())

    def releases(self) -> pl.DataFrame:
        """The releases with their titles, licences and sizes, a row a release."""
        return self._frame("releases", {})

    def workloads(self, *, release: str | None = None) -> pl.DataFrame:
        """The workloads with their goals and sizes, a row a workload of a release.

        Args:
            release: of this release alone.

        Raises:
            UsageError: there is no such release.
        """
        return self._frame("workloads", {"release": self._known_release(release)})

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
        release = self._known_release(release)
        with asking(self._connection) as cursor:
            names = matching_workloads(cursor, _words(workload), release)
        return self._frame("studies", {"workloads": names, "release": release})

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
            (['COMPLETE', 'INFEASIBLE'], 112)
        """
        release, sizes = self._known_release(release), _numbers(batch_size)
        with asking(self._connection) as cursor:
            names = matching_workloads(cursor, _words(workload), release)
            check_batch_sizes(cursor, names, release, sizes or [])
        values = {"workloads": names, "release": release, "batch_sizes": sizes}
        return self._frame("trials", values)

    def measurements(
        self,
        workload: str | Iterable[str] | None = None,
        *,
        batch_size: int | Iterable[int] | None = None,
        trial_id: int | Iterable[int] | None = None,
        release: str | None = None,
        columns: Iterable[str] | None = None,
    ) -> pl.LazyFrame:
        """The measurements as a lazy frame, a row for each step of a trial at which there are any.

        Nothing is read before `collect`, and then the columns that are used alone, and of the
        rows those that filters leave, as far as SQL can tell. Rows come in no promised order.

        Args:
            workload: names or patterns; None: all.
            batch_size: of studies with these batch sizes alone.
            trial_id: of these trials of each study alone.
            release: of this release alone.
            columns: names of columns; None: all of the view measurements.

        Raises:
            UsageError: a name is not there.

        Example:
            >>> curve = db.measurements("mnist/fc_64_64_64/sgd", batch_size=64, trial_id=3)
            >>> curve = curve.select("step", "val_classification_error").sort("step")
            >>> curve.head(2).collect().rows()
            [(0, 0.9014), (391, 0.9026)]
        """
        from dbtool.api.scan import Scan

        release, sizes, trials = (
            self._known_release(release),
            _numbers(batch_size),
            _numbers(trial_id),
        )
        with asking(self._connection) as cursor:
            chosen = check_columns(
                cursor, "measurements", None if columns is None else _words(columns)
            )
            held_to: dict[str, list[Any]] = {} if release is None else {"release": [release]}
            names = matching_workloads(cursor, _words(workload), release)
            if workload is not None:
                held_to["workload"] = names
            if sizes is not None:
                check_batch_sizes(cursor, names, release, sizes)
                held_to["batch_size"] = sizes
            if trials is not None:
                check_trials(cursor, names, release, sizes, trials)
                held_to["trial_id"] = trials
            return Scan(self._connection, "measurements", chosen, held_to, self._readers).lazy()

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

        The fewest steps any of the first COMPLETE trials of a study took to get strictly past the
        goal, or to it where the workload's goal is inclusive; null where no trial did.

        Args:
            workload: names or patterns.
            goal: the value to get past; None: each workload's own goal.
            metric: the column that is to pass it; None: each workload's own metric.
            trials: of each study, so many of the first COMPLETE trials count.
            batch_size: of studies with these batch sizes alone.
            release: of this release alone.

        Raises:
            UsageError: a name is not there, or a workload has no goal of its own for the metric.

        Example:
            >>> steps = db.steps_to_result("mnist/fc_64_64_64/sgd", batch_size=[16, 64, 256])
            >>> steps.select("batch_size", "steps").rows()
            [(16, 12504), (64, 2346), (256, 980)]
        """
        asked = self._asked(workload, batch_size, metric, trials, release)
        with asking(self._connection) as cursor:
            mend = "give one, as in goal=0.03"
            rows = steps_to_result(cursor, asked, goal, mend).to_arrow_table()
        return Result(rows).polars()

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
            trials: of each study, so many of the first COMPLETE trials count.
            batch_size: of studies with these batch sizes alone.
            release: of this release alone.

        Raises:
            UsageError: a name is not there.

        Example:
            >>> best = db.best("mnist/fc_64_64_64/sgd", most_steps=1000, batch_size=[64, 256])
            >>> best.select("batch_size", "value", "step").rows()
            [(64, 0.046, 782), (256, 0.0294, 980)]
        """
        asked = self._asked(workload, batch_size, metric, trials, release)
        with asking(self._connection) as cursor:
            rows = best_measurements(cursor, asked, most_steps, most_examples)
            return Result(rows).polars()

    def _asked(
        self,
        workload: str | Iterable[str],
        batch_size: int | Iterable[int] | None,
        metric: str | None,
        trials: int,
        release: str | None,
    ) -> Asked:
        release = release if release is not None else self._release
        return Asked(_words(workload), release, _numbers(batch_size), metric, trials)

    def _known_release(self, release: str | None) -> str | None:
        """The release that was named, or else the database's own.

        Raises:
            UsageError: it is not there.
        """
        with asking(self._connection) as cursor:
            check_release(cursor, release)
        return release if release is not None else self._release

    def _frame(self, name: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """The rows of queries/browse/NAME.sql."""
        with asking(self._connection) as cursor:
            return Result(cursor.execute(query(name), values).to_arrow_table()).polars()


def _words(given: str | Iterable[str] | None) -> list[str]:
    """One word or several as a list; None: the pattern of all."""
    if given is None:
        return ["*"]
    return [given] if isinstance(given, str) else list(given)


def _numbers(given: int | Iterable[int] | None) -> list[int] | None:
    """One number or several as a list; also numbers of NumPy."""
    if given is None:
        return None
    return [int(number) for number in given] if isinstance(given, Iterable) else [int(given)]


def _check_values(named: set[str], values: Mapping[str, object]) -> None:
    """Makes sure that the query's named values are those that are given.

    Raises:
        UsageError: they are not.
    """
    for name in sorted(named - set(values)):
        raise UsageError(f"the query needs a value for ${name}: give it as in sql(…, {name}=…)")
    for name in values:
        if name not in named:
            raise unknown("parameter", name, named, "dbtool sql --help")
