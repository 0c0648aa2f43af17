"""In what two releases differ: workloads, studies, trials, measurements and steps to result."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pyarrow as pa

from dbtool.errors import DbtoolError, UsageError
from dbtool.resources import queries_folder
from dbtool.store.contract import parse_shard_name
from dbtool.store.database import SETTINGS, open_for_reading, open_for_writing
from dbtool.store.load import load
from dbtool.store.published.manifest import is_published
from dbtool.store.published.views import open_published

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbtool.store.ingest import Progress

_SAID = pa.schema(
    [
        ("workload", pa.string()),
        ("batch_size", pa.int32()),
        ("what", pa.string()),
        ("value", pa.string()),
    ]
)


class Goal(NamedTuple):
    """Which steps to result are compared.

    Attributes:
        metric: the column that is to pass the goal; None: the workload's own.
        goal: the value to get past; None: the workload's own.
        trials: of each study, so many first trials.
    """

    metric: str | None
    goal: float | None
    trials: int


class Side(NamedTuple):
    """A release that is compared.

    Attributes:
        connection: what holds it.
        release: its name.
    """

    connection: duckdb.DuckDBPyConnection
    release: str


@contextlib.contextmanager
def opened(path: Path, on_progress: Progress | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of what lies at a path: one, a published release, or shards, which are loaded.

    Args:
        path: a database, a folder that `dbtool publish` wrote, shards or a folder of them.
        on_progress: as for `load`; called where shards are loaded.

    Raises:
        UsageError: there is nothing of the kind.
        DbtoolError: it cannot be opened, or a shard is refused.
    """
    if not path.exists():
        raise UsageError(
            f"there is no {path}: name a database, a published release or a folder of shards"
        )
    if path.is_dir() and is_published(path):
        with open_published(path) as connection:
            yield connection
    elif path.is_dir() or parse_shard_name(path.name):
        with _loaded(path, on_progress) as connection:
            yield connection
    else:
        with open_for_reading(path) as connection:
            yield connection


@contextlib.contextmanager
def compared(first: Side, second: Side, goal: Goal) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the table `differences`, in order, a row a difference.

    Its columns are kind (workload, study, trial or steps to result), workload, batch_size,
    trial_id, what, and the values of both as text.

    Args:
        first: the release whose values stand under a.
        second: that whose values stand under b.
        goal: which steps to result are compared.
    """
    with duckdb.connect(config=SETTINGS) as connection:
        for name, side in (("a", first), ("b", second)):
            for table, rows in _tables(side, goal).items():
                connection.register("incoming", rows)
                connection.execute(f"CREATE TABLE {name}_{table} AS FROM incoming")
                connection.unregister("incoming")
        connection.execute(f"CREATE TABLE differences AS {_query('differences')}")
        yield connection


@contextlib.contextmanager
def _loaded(path: Path, on_progress: Progress | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A temporary database of shards."""
    with tempfile.TemporaryDirectory(prefix="dbtool-diff-") as folder:
        database = Path(folder) / "shards.duckdb"
        with open_for_writing(database) as connection:
            for what, reason in load(connection, [path], on_progress).refused:
                raise DbtoolError(f"{what} is refused: {reason}; check it with `dbtool verify`")
        with open_for_reading(database) as connection:
            yield connection


def _tables(side: Side, goal: Goal) -> Mapping[str, pa.Table]:
    """What a release holds, as queries/diff/differences.sql takes it."""

    def rows(name: str, **values: Any) -> pa.Table:
        result = side.connection.execute(_query(name), {"release": side.release, **values})
        return result.to_arrow_table()

    workloads, studies = rows("workloads"), rows("studies")
    said = [*_said(workloads), *_said(studies)]
    return {
        "workloads": workloads.select(["workload"]),
        "studies": studies.select(["workload", "batch_size"]),
        "said": pa.Table.from_pylist(said, schema=_SAID),
        "trials": rows("trials"),
        "steps": rows("steps", **goal._asdict()),
    }


def _said(table: pa.Table) -> Iterator[dict[str, Any]]:
    """What workloads or studies say of themselves, a row a name; batch size 0 is of workloads."""
    for row in table.to_pylist():
        key = {"workload": row["workload"], "batch_size": row.get("batch_size", 0)}
        said = {name: value for name, value in row.items() if name not in key}
        if said.get("definition") is not None:
            # It repeats the columns, and names more.
            more = json.loads(said["definition"])
            said |= {f"definition {name}": more[name] for name in more if name not in row}
            said["definition"] = "given"
        if "search_space" in said:
            said["search_space"] = json.loads(said["search_space"])
        for name, value in said.items():
            text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            yield {**key, "what": name, "value": None if value is None else text}


def _query(name: str) -> str:
    """The text of queries/diff/NAME.sql."""
    return (queries_folder() / "diff" / f"{name}.sql").read_text(encoding="utf-8")
