"""The command that says what is installed, where data are, and what is missing."""

import importlib.metadata
import itertools
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import typer

import dbtool
from dbtool.core.errors import DbtoolError, few_of
from dbtool.core.manifest import releases_in
from dbtool.core.resources import how_to_install
from dbtool.core.walk import entries

Row = tuple[str, str, str | None]
_DISTRIBUTION = "steps-to-result"
# Of the extras, those whose libraries tell that they are installed; "" is what all commands need.
_EXTRAS = ("", "train", "cluster", "cloud", "iceberg", "logs", "pandas", "spark")
_REQUIREMENT = re.compile(r"""([\w.-]+)[^;]*(?:;.*extra == ["']([\w-]+)["'])?""")


def doctor() -> None:
    """Say what is installed, where data are, and what is missing.

    Below a part that is missing stands what brings it.

    Example: dbtool doctor
    """
    for part, state, remedy in itertools.chain(_installed(), _data()):
        typer.echo(f"{part:15}{state}" + (f"\n{'':15}-> {remedy}" if remedy else ""))


def _installed() -> Iterator[Row]:
    yield "dbtool", f"{dbtool.__version__} in {Path(dbtool.__file__).parent}", None
    yield "python", f"{platform.python_version()}, {sys.executable}", None
    if _version(_DISTRIBUTION) is None:
        yield "libraries", "unknown, as pip did not install dbtool", "`pip install .` in a checkout"
        return
    for extra in _EXTRAS:
        versions = {name: _version(name) for name in _libraries(extra)}
        missing = [name for name, version in versions.items() if version is None]
        named = missing or [f"{name} {version}" for name, version in versions.items()]
        state = f"{'missing: ' if missing else ''}{few_of(named, 4)}"
        remedy = how_to_install(extra) if missing else None
        yield f"extra {extra}" if extra else "libraries", state, remedy


def _libraries(extra: str) -> list[str]:
    """List the distributions that an extra requires, as the installed package names them."""
    lines = map(_REQUIREMENT.match, importlib.metadata.requires(_DISTRIBUTION) or [])
    return [line[1] for line in lines if line and (line[2] or "") == extra]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _data() -> Iterator[Row]:
    from dbtool.explorer.page import require_built
    from dbtool.store.locations import named_location, user_folder
    from producers.datasets.folders import default_cache, given_folder

    def read() -> Sequence[object]:
        where = named_location(None)
        return where.folders if where.url is None else [where.url]

    def application() -> Sequence[object]:
        require_built()
        return ["built"]

    def data_sets() -> Sequence[object]:
        return [each.name for each in entries(given_folder(None) or default_cache())]

    yield _found("releases read", read, "`dbtool ingest RUNS`")
    yield _found("your releases", lambda: releases_in(user_folder()), "`dbtool ingest RUNS`")
    yield _found("data sets", data_sets, "`dbtool produce` fetches MNIST and Fashion MNIST")
    yield _found("explorer", application, "`make explorer` in a checkout")


def _found(part: str, ask: Callable[[], Sequence[object]], remedy: str) -> Row:
    """Return what is there, or that it is missing, with the remedy or the error that names it."""
    try:
        found = [str(each) for each in ask()]
    except DbtoolError as error:
        return part, "unusable", str(error)
    return part, few_of(found, 4) if found else "none", None if found else remedy
