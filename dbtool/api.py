"""What Python users ask: a database, with what is told of its measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.store import database

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl


class Database(database.Database):
    """Releases that are open to read; made by `dbtool.open`, closed by a `with` or `close`."""

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

        See `dbtool.analysis.critical` for the definitions, and docs/scaling.md for the columns.

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
