"""Names that a shell offers at the press of a key.

What cannot be read offers nothing: a shell shows no errors while a person types.
"""

from __future__ import annotations

import typer  # noqa: TC002 (Typer evaluates the annotations of these functions)


def held_workloads(context: typer.Context) -> list[str]:
    """Workloads of the releases that are read, or of the one that was named before."""
    return _held(context, "held_workloads", release=context.params.get("release"))


def held_releases(context: typer.Context) -> list[str]:
    """Releases that are read."""
    return _held(context, "releases")


def trainable_workloads() -> list[str]:
    """Workloads that can be trained."""
    from producers.workloads.registry import WORKLOADS

    return list(WORKLOADS)


def figures() -> list[tuple[str, str]]:
    """Figures, each with its title."""
    from dbtool.figures.specs import FIGURES

    return [*((spec.name, spec.title) for spec in FIGURES), ("all", "Every figure that has data")]


def analysis_names() -> list[tuple[str, str]]:
    """Analyses, each with the question that it answers."""
    from dbtool.store.analyses import analyses

    return list(analyses().items())


def dialects() -> list[str]:
    """Dialects of SQL that queries are translated to."""
    from dbtool.dialects.engines import DIALECTS

    return list(DIALECTS)


def _held(context: typer.Context, query_name: str, **values: str | None) -> list[str]:
    """The first column of one of the queries in queries/browse."""
    from dbtool.core.errors import DbtoolError
    from dbtool.database import open_database
    from dbtool.store.questions import index_question

    try:
        with open_database(context.params.get("db")) as db:
            return [row[0] for row in db.result(index_question(query_name, **values))]
    except (DbtoolError, OSError, RuntimeError):
        return []
