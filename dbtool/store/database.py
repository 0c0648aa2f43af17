"""One DuckDB file: make it, open it to read or to write, and say plainly why it does not open."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

import dbtool
from dbtool.errors import DbtoolError
from dbtool.resources import schema_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

VIEWS_AND_MACROS = (
    "views",
    "macros",
    "figure_macros",
    "figure_best_macros",
    "figure_list_macros",
    "figure_trial_macros",
    "figure_measurement_macros",
    "comments",
)
"""The parts of schema/ that stand on the tables, in the order in which they are run."""
_SCHEMA = ("tables", *VIEWS_AND_MACROS)
# The folder beside a database in which a copy of it is loaded into; see `dbtool.store.loading`.
LOADING = ".{}.loading"
# Loading needs far less; the bound leaves room for the rest of the machine.
_WRITER_MEMORY = "2GB"
# Each checkpoint ends a row group early; by the default, 16 MB, a full import takes a tenth longer
# and its file is 4 % larger. What was committed lies in the write-ahead log meanwhile.
_CHECKPOINT_EVERY = "256MB"
# Python objects must not pass for tables: a mistyped table name would find a variable of ours.
SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
}
"""What holds for every connection."""
_READING = SETTINGS | {"enable_external_access": False, "temp_directory": ""}
# A query that spilled to disk could be told to write elsewhere; `COPY … TO` the open database's own
# path is let through by enable_external_access alone, and destroys it. A join with up to so many
# rows (DuckDB's default is 50) filters the scan by their values: some figures take a third of the
# time.
LOCK = """
SET dynamic_or_filter_threshold = 20000;
SET enable_progress_bar = true;
SET enable_progress_bar_print = false;
SET disabled_filesystems = 'LocalFileSystem';
SET lock_configuration = true;
"""
"""What is run on a connection before queries of any origin are."""


def schema_version() -> int:
    """The version of the data model that this code writes and reads."""
    return int((schema_folder() / "version.txt").read_text())


def open_for_writing(path: Path) -> duckdb.DuckDBPyConnection:
    """Opens a database for loading; makes the file with an empty data model where there is none.

    The file appears whole or not at all, also when two processes make it at once.

    Raises:
        DbtoolError: it is no database of this schema version, in use, or cannot be opened.
    """
    if not path.exists():
        _make(path)
    connection = _connect(path, read_only=False)
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET memory_limit = '{_WRITER_MEMORY}'")
    connection.execute(f"SET checkpoint_threshold = '{_CHECKPOINT_EVERY}'")
    return connection


def open_for_reading(path: Path) -> duckdb.DuckDBPyConnection:
    """Opens a database for queries of any origin: they can neither change it nor touch any file.

    A query that outgrows memory fails rather than spill to disk.

    Raises:
        DbtoolError: it is no database of this schema version, in use by a process that writes
            to it, or cannot be opened.
    """
    connection = _connect(path, read_only=True)
    # Connections of one process share the file's settings, so a second one finds them locked.
    locked = connection.execute("SELECT current_setting('lock_configuration')").fetchone()
    if locked == (False,):
        connection.execute(LOCK)
    return connection


def writing_failed(
    path: Path | str, error: Exception, command: str = "dbtool ingest"
) -> DbtoolError:
    """The error for rows that could not be stored, for instance because the disk is full.

    Args:
        path: the database.
        error: what DuckDB or the system said.
        command: what goes on where it stopped when it is given again.
    """
    return DbtoolError(
        f"writing to the database {path} failed ({_reason(error)}): what it held is unharmed; "
        f"mend that and run the same `{command}` again, which goes on where it stopped"
    )


def file_of(connection: duckdb.DuckDBPyConnection) -> str:
    """The database of a connection; of one that loads into a copy, what that is a copy of."""
    found = connection.execute("SELECT path FROM duckdb_databases() WHERE NOT internal")
    file = Path((found.fetchone() or ("",))[0])
    is_copy = file.parent.name == LOADING.format(file.name)
    return str(file.parent.with_name(file.name) if is_copy else file)


@contextlib.contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commits what the block did, or nothing of it when it fails or is interrupted."""
    connection.execute("BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # After a failed write the connection is beyond use, and the file has not changed.
        with contextlib.suppress(duckdb.Error):
            connection.execute("ROLLBACK")
        raise


def publish(made: Path, path: Path) -> None:
    """Gives a finished database its name; where another process was first, its file stays.

    Args:
        made: the finished file, on the same file system; it is gone afterwards.
        path: the name it shall have.
    """
    try:
        os.link(made, path)
    except FileExistsError:
        pass
    except OSError:
        # A file system without hard links: the last one to finish wins, with equal contents.
        made.replace(path)
        return
    made.unlink()


def _make(path: Path) -> None:
    """Makes an empty database of the data model under another name, then gives it its own."""
    made = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with duckdb.connect(str(made), config=SETTINGS) as connection:
            # One transaction takes a third of the time of one a statement.
            with transaction(connection):
                for part in _SCHEMA:
                    connection.execute((schema_folder() / f"{part}.sql").read_text())
                connection.execute(
                    "INSERT INTO stored.schema_version VALUES (?, ?)",
                    [schema_version(), dbtool.__version__],
                )
            # Closing would write it too, but would not say so when that fails.
            connection.execute("CHECKPOINT")
        publish(made, path)
    except (duckdb.Error, OSError) as error:
        raise DbtoolError(f"cannot make the database {path}: {_reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            made.unlink(missing_ok=True)
            made.with_name(f"{made.name}.wal").unlink(missing_ok=True)


def _connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """A connection to an existing database whose schema version is this code's."""
    if not path.is_file():
        raise DbtoolError(_not_a_file(path))
    try:
        connection = duckdb.connect(
            str(path), read_only=read_only, config=_READING if read_only else SETTINGS
        )
    except duckdb.Error as error:
        raise DbtoolError(_why_closed(path, str(error))) from error
    try:
        _check_version(connection, path)
    except DbtoolError:
        connection.close()
        raise
    return connection


def _check_version(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuses a database of another schema version, or of another program.

    Raises:
        DbtoolError: it is one.
    """
    try:
        found = connection.execute("SELECT version FROM stored.schema_version").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise DbtoolError(_of_another_program(path)) from error
    except duckdb.Error as error:
        raise DbtoolError(_why_closed(path, str(error))) from error
    if len(found) != 1:
        raise DbtoolError(_of_another_program(path))
    version, ours = int(found[0][0]), schema_version()
    if version > ours:
        raise DbtoolError(
            f"the database {path} has schema version {version} and this dbtool reads {ours}: "
            "upgrade dbtool (`pip install -U dbtool`) or name another file with --db"
        )
    if version < ours:
        raise DbtoolError(
            f"the database {path} has schema version {version}, made by an older dbtool, and this "
            f"one reads {ours}: load its shards into a new file with `dbtool ingest --db NEW PATH`"
        )


def _not_a_file(path: Path) -> str:
    """Why a path that is no file cannot be opened."""
    if path.is_dir():
        return f"{path} is a folder and not a database: name a file with --db"
    if path.exists():
        return f"{path} is not a database: name another file with --db"
    return f"there is no database {path}: make it with `dbtool ingest --db {path} PATH`"


def _of_another_program(path: Path) -> str:
    return (
        f"{path} is a DuckDB database that dbtool did not make: name another file with --db, "
        "which `dbtool ingest` makes"
    )


def _why_closed(path: Path, message: str) -> str:
    """One sentence for an error of DuckDB's when a file was opened."""
    if "Could not set lock" in message:
        holder = re.search(r"PID (\d+)", message)
        process = f"another process (PID {holder[1]})" if holder else "another process"
        return f"the database {path} is in use by {process}: try again when that has ended"
    if "different configuration" in message:
        return f"the database {path} is already open in this process: close that connection first"
    if "not a valid DuckDB database" in message:
        return f"{path} is not a database: name another file with --db"
    if "version number" in message:
        return (
            f"the database {path} was written by another version of DuckDB than this one "
            f"({duckdb.__version__}): upgrade it with `pip install -U duckdb`"
        )
    if not os.access(path, os.R_OK):
        return f"the database {path} cannot be read: its permissions do not allow it"
    return (
        f"the database {path} is damaged or cannot be read ({_short(message)}): "
        "remove it and load its shards anew with `dbtool ingest`"
    )


def _reason(error: Exception) -> str:
    """What the system or DuckDB says, on one line."""
    return error.strerror or str(error) if isinstance(error, OSError) else _short(str(error))


def _short(message: str) -> str:
    """The first line of a message of DuckDB's without its kind and its links."""
    line = message.strip().splitlines()[0] if message.strip() else "no reason given"
    return re.sub(r"^[A-Z][\w ]*Error: ", "", line).split(" See also")[0].rstrip(".:")
