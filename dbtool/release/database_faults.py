"""What is wrong with the rows of a database, found by reading all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from dbtool.errors import DbtoolError
from dbtool.release.improvement_faults import improvement_faults
from dbtool.resources import queries_folder
from dbtool.store.database import open_for_reading
from dbtool.store.statements import interruptible

if TYPE_CHECKING:
    from pathlib import Path

_DAMAGED_BLOCK = re.compile(r"checksum .* in block at location (\d+)")
_KIND_OF_ERROR = re.compile(r"^[A-Z][\w ]*Error: ")
# What opening a database advises a command that takes --db, which `dbtool verify` does not.
_OPTION = ": name another file with --db"


@dataclass(frozen=True)
class DatabaseFaults:
    """What reading a database found.

    Attributes:
        reasons: what is wrong, a sentence each without the file's name.
        measurements: how many it holds; 0 where they could not be read.
    """

    reasons: tuple[str, ...]
    measurements: int


def database_faults(path: Path) -> DatabaseFaults:
    """Reads every row and every key of a database, and holds the rows against its own counts.

    Raises:
        DbtoolError: when it cannot be opened, such as a file of another program or in use, or
            there is too little memory.
        KeyboardInterrupt: the person pressed Ctrl-C while a query ran.
    """
    query = (queries_folder() / "verify" / "database.sql").read_text(encoding="utf-8")
    try:
        with interruptible(), open_for_reading(path) as connection:
            rows = connection.execute(query).fetchall()
            other_reasons = _faults_of_keys(connection) + improvement_faults(connection)
    except duckdb.OutOfMemoryException as error:
        raise DbtoolError(
            f"too little memory is free to check {path}: end other programs and check it again"
        ) from error
    except (DbtoolError, duckdb.Error) as error:
        return DatabaseFaults((_reason(error),), 0)
    reasons = [reason for reason, *_ in rows if reason]
    measurements = sum(count for reason, count, _ in rows if reason is None)
    return DatabaseFaults((*reasons, *other_reasons), measurements)


def _faults_of_keys(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Looks up every key by itself, which reads the blocks of the index that rows are found by.

    A scan leaves those unread. Indexes of several columns only serve loading, and are left out.
    """
    query = (queries_folder() / "verify" / "keys.sql").read_text(encoding="utf-8")
    faults = []
    for table, column in connection.execute(query).fetchall():
        relation = connection.table(f"stored.{table}")
        for (key,) in relation.select(column).fetchall():
            matching = duckdb.ColumnExpression(column) == duckdb.ConstantExpression(key)
            found = len(relation.filter(matching).fetchall())
            if found != 1:
                faults.append(f"the {column} {key} of stored.{table} is found {found} times")
    return faults


def _reason(error: DbtoolError | duckdb.Error) -> str:
    """What is wrong with a file that cannot be opened or read, in one sentence.

    Raises:
        DbtoolError: when it was not opened for another reason than damage.
    """
    message = str(error)
    block = _DAMAGED_BLOCK.search(message)
    if block:
        return f"the block at byte {block[1]} is damaged: its checksum does not match"
    if isinstance(error, DbtoolError):
        what, option, _ = message.partition(_OPTION)
        raise DbtoolError(f"{what}: give one that `dbtool ingest` made" if option else what)
    return _KIND_OF_ERROR.sub("", message.splitlines()[0])
