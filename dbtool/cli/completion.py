"""Names that a shell offers at the press of a key.

What cannot be read offers nothing: a shell shows no errors while a person types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer  # noqa: TC002 (Typer evaluates the annotations of these functions)

if TYPE_CHECKING:
    from dbtool.release.manifest import Manifest


def held_workloads(context: typer.Context) -> list[str]:
    """Workloads of the database that is read, and of the release that was named before."""
    release = context.params.get("release")
    held = _held(context, "held_workloads", {"release": release})
    if held is not None:
        return held
    manifest = _bundled()
    if manifest is None or release not in {None, manifest.release}:
        return []
    return sorted({file.workload for file in manifest.files})


def held_releases(context: typer.Context) -> list[str]:
    """Releases of the database that is read."""
    held = _held(context, "held_releases", {})
    if held is not None:
        return held
    manifest = _bundled()
    return [manifest.release] if manifest else []


def trainable_workloads() -> list[str]:
    """Workloads that can be trained."""
    from producers.workloads.registry import WORKLOADS

    return list(WORKLOADS)


def presets() -> list[tuple[str, str]]:
    """Presets of how much to train, each with what it is for."""
    from producers.workloads.presets import PRESETS

    return [(preset.name, preset.about) for preset in PRESETS.values()]


def figures() -> list[tuple[str, str]]:
    """Figures, each with its title."""
    from dbtool.figures.specs import FIGURES

    return [*((spec.name, spec.title) for spec in FIGURES), ("all", "Every figure that has data")]


def _held(
    context: typer.Context, query_name: str, values: dict[str, str | None]
) -> list[str] | None:
    """The first column of one of the queries in queries/browse.

    None where the bundled release is read: loading it takes longer than a person waits for a key.
    """
    import duckdb

    from dbtool.errors import DbtoolError
    from dbtool.resources import query
    from dbtool.store.database import open_for_reading
    from dbtool.store.locate import chosen_database

    option = context.params.get("db")
    try:
        # No shell has expanded the word yet.
        path = chosen_database(option.expanduser() if option else None)
        if path is None:
            return None
        with open_for_reading(path) as connection:
            return [row[0] for row in connection.execute(query(query_name), values).fetchall()]
    except (DbtoolError, duckdb.Error, OSError, RuntimeError):
        return []


def _bundled() -> Manifest | None:
    """The manifest of the release that ships with dbtool."""
    from dbtool.errors import DbtoolError
    from dbtool.release.manifest import read_manifest
    from dbtool.resources import bundled_release

    try:
        return read_manifest(bundled_release())
    except DbtoolError:
        return None
