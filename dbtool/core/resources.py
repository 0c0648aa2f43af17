"""Paths of the SQL, the shard contract and the bundled release, in a checkout or in a wheel."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dbtool.core.errors import DbtoolError

_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = _PACKAGE.parent
REPLICATION = "replication"
"""The release that ships with the code, in whole or in part."""


def _folder(name: str) -> Path:
    """Return the folder of a name: beside the code in a wheel, at the top level in a checkout."""
    shipped = _PACKAGE / name
    return shipped if shipped.is_dir() else _CHECKOUT / name


def how_to_install(extra: str) -> str:
    """Return the commands that install an extra from what a user has; no index has dbtool."""
    return (
        f"`pip install '.[{extra}]'` in a checkout of dbtool, or of its wheel "
        f"`pip install 'FILE.whl[{extra}]'`"
    )


@contextlib.contextmanager
def libraries_of(extra: str, needing: str) -> Iterator[None]:
    """Raise an error on how to install an extra where the block imports a missing library of it.

    `needing` is what needs the library, with its verb, as in "training needs".
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"dbtool", "producers"}:
            raise
        raise DbtoolError(
            f"{needing} {error.name}, which is not installed: {how_to_install(extra)}"
        ) from error


def schema_folder() -> Path:
    """Return the folder of tables, views, macros and the shards' column contract."""
    return _folder("schema")


def queries_folder() -> Path:
    """Return the folder of the SQL of figures and analyses."""
    return _folder("queries")


def query(name: str, folder: str = "browse") -> str:
    """Return the text of queries/FOLDER/NAME.sql."""
    return (queries_folder() / folder / f"{name}.sql").read_text(encoding="utf-8")


def schema_text(name: str) -> str:
    """Return the text of schema/NAME.sql."""
    return (schema_folder() / f"{name}.sql").read_text(encoding="utf-8")


def bundled_release() -> Path:
    """Return the folder of the release that ships with the code.

    A checkout has all of `replication`; a wheel its evaluations alone, under a name of their own.
    """
    shipped = _PACKAGE / "data" / f"{REPLICATION}_evaluations"
    return shipped if shipped.is_dir() else _CHECKOUT / "data" / REPLICATION


def schema_version() -> int:
    """Return the version of the data model that this code writes and reads."""
    return int((schema_folder() / "version.txt").read_text())
