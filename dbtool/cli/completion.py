"""Names for completion in a shell.

Unreadable sources offer no names: a shell shows no errors while a person types.
"""

from __future__ import annotations

import typer  # noqa: TC002 (Typer evaluates the annotations of these functions)


def held_workloads(context: typer.Context) -> list[str]:
    """List the workloads of the releases that are read, or of the release named before."""
    return _held(context, "held_workloads", release=context.params.get("release"))


def held_releases(context: typer.Context) -> list[str]:
    """List the releases that are read."""
    return _held(context, "releases")


def trainable_workloads() -> list[str]:
    """List the workloads that can be trained."""
    from producers.workloads.registry import WORKLOADS

    return list(WORKLOADS)


def figures() -> list[tuple[str, str]]:
    """List the figures, each with its title."""
    from dbtool.figures.specs import FIGURES

    return [*((spec.name, spec.title) for spec in FIGURES), ("all", "Every figure that has data")]


def analysis_names() -> list[tuple[str, str]]:
    """List the analyses, each with the question that it answers."""
    from dbtool.store.queries import analyses

    return list(analyses().items())


def dialects() -> list[str]:
    """List the SQL dialects that queries are translated to."""
    from dbtool.dialects.engines import DIALECTS

    return list(DIALECTS)


def _held(context: typer.Context, query_name: str, **values: str | None) -> list[str]:
    """Return the first column of one of the queries in queries/browse."""
    from dbtool.core.errors import DbtoolError
    from dbtool.database import open_database
    from dbtool.store.questions import index_question

    try:
        with open_database(context.params.get("db")) as db:
            return [row[0] for row in db.result(index_question(query_name, **values))]
    except (DbtoolError, OSError, RuntimeError):
        return []
