"""Where the SQL, the shard contract and the bundled release lie: in a checkout or in a wheel."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.core.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Iterator

DISTRIBUTION = "steps-to-result"
"""What package indexes call this package, for messages that say how to install more of it."""
_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = _PACKAGE.parent


def _folder(name: str) -> Path:
    """The folder of that name: beside the code in a wheel, at the top level in a checkout."""
    shipped = _PACKAGE / name
    return shipped if shipped.is_dir() else _CHECKOUT / name


@contextlib.contextmanager
def libraries_of(extra: str, needing: str) -> Iterator[None]:
    """Tells how to install the libraries of an extra, where one that is imported is missing.

    Args:
        extra: its name.
        needing: what needs them, with its verb, as in "training needs".

    Raises:
        DbtoolError: one is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"dbtool", "producers"}:
            raise
        raise DbtoolError(
            f"{needing} {error.name}, which is not installed: install it with "
            f"`pip install '{DISTRIBUTION}[{extra}]'`"
        ) from error


def schema_folder() -> Path:
    """The folder of tables, views, macros and the shards' column contract."""
    return _folder("schema")


def queries_folder() -> Path:
    """The folder of the figures' and analyses' SQL."""
    return _folder("queries")


def query(name: str, folder: str = "browse") -> str:
    """The text of queries/FOLDER/NAME.sql."""
    return (queries_folder() / folder / f"{name}.sql").read_text(encoding="utf-8")


def bundled_release() -> Path:
    """The folder of the release that ships with the code.

    It is whole in a checkout, and without the losses between evaluations in a wheel.
    """
    return _folder("data") / "replication"


def schema_version() -> int:
    """The version of the data model that this code writes and reads."""
    return int((schema_folder() / "version.txt").read_text())
