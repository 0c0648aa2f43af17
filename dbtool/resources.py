"""Where the SQL, the shard contract and the bundled release lie: in a checkout or in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent


def _folder(name: str) -> Path:
    """The folder of that name: beside the code in a wheel, at the top level in a checkout."""
    shipped = _PACKAGE / name
    return shipped if shipped.is_dir() else _CHECKOUT / name


def schema_folder() -> Path:
    """The folder of tables, views, macros and the shards' column contract."""
    return _folder("schema")


def queries_folder() -> Path:
    """The folder of the figures' and analyses' SQL."""
    return _folder("queries")


def query(name: str) -> str:
    """The text of queries/browse/NAME.sql."""
    return (queries_folder() / "browse" / f"{name}.sql").read_text(encoding="utf-8")


def bundled_release() -> Path:
    """The folder of the measured release that ships with the code.

    A checkout holds the whole release, a wheel a small part of it.
    """
    sample = _PACKAGE / "sample"
    return sample if sample.is_dir() else _CHECKOUT / "data" / "measured"
