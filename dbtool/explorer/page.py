"""The explorer's page: one file, with a policy that runs no script or style but its own.

It has its data in it, or beside it in a release folder on a server.
"""

import base64
import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files as resources
from io import BytesIO
from pathlib import Path
from string import Template
from typing import Any

from dbtool import __version__
from dbtool.core.errors import DbtoolError
from dbtool.core.files import finish, unfinished, write_whole
from dbtool.core.manifest import PAGE, read_manifest
from dbtool.explorer.contents import Material, facts_of, write_tables

PAGE_TITLE = "Steps to result"
_FOLDER = Path("explorer")
_HELD = ("trials", "improvements", "curves", "figures")


def write_alone(
    material: Material,
    out: Path,
    options: Sequence[str] = (),
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Write a page that includes all its data; the file is written completely or not at all.

    Options are words of commands that select the same releases, for the commands in the page.

    Raises:
        OSError: the file cannot be written.
        DbtoolError: the application was not built, or a shard is damaged.
    """
    tables = {name: BytesIO() for name in material.chosen.tables}
    workloads = write_tables(material.db, material.chosen, tables, on_progress)
    held = {name: sink.getvalue() for name, sink in tables.items()}
    facts = facts_of(material, workloads, options=options)
    write_whole(out, page(facts, held | {"figures": material.figures}).encode())


def write_beside(
    material: Material,
    folder: Path,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[str]:
    """Write a page and its tables into a release folder, whose shards it reads by HTTP.

    Returns:
        The paths of the files, relative to the folder.

    Raises:
        OSError: a file cannot be written.
        DbtoolError: the application was not built, or a shard is damaged.
    """
    paths = {name: _FOLDER / f"{name}.parquet" for name in material.chosen.tables}
    with contextlib.ExitStack() as stack:
        opened = {name: stack.enter_context(unfinished(folder / _FOLDER)) for name in paths}
        tables = {name: file for name, (file, _) in opened.items()}
        workloads = write_tables(material.db, material.chosen, tables, on_progress)
        for name, (file, temporary) in opened.items():
            finish(file, temporary, folder / paths[name])
    files = {
        name: {"path": path.as_posix(), "bytes": (folder / path).stat().st_size}
        for name, path in paths.items()
    }
    shard_bytes = {file.path: file.bytes for file in read_manifest(folder).shards}
    facts = facts_of(material, workloads, files=files, shard_bytes=shard_bytes)
    write_whole(folder / PAGE, page(facts, {"figures": material.figures}).encode())
    return [path.as_posix() for path in (Path(PAGE), *paths.values())]


def page(facts: Mapping[str, Any], held: Mapping[str, bytes]) -> str:
    """Return the page's text; equal contents give equal text.

    Args:
        facts: see `contents.facts_of`.
        held: the figures as gzipped JSON, and the tables as Parquet where they are not beside it.

    Raises:
        DbtoolError: the application was not built.
    """
    style, script = _built("explorer.css"), _built("explorer.js")
    names = ", ".join(each["release"] for each in facts["releases"])
    return Template(_read("assets", "page.html")).substitute(
        title=escape(f"{PAGE_TITLE}: {names}" if names else PAGE_TITLE),
        version=escape(__version__),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        connect="'self'" if facts["files"] else "'none'",
        # In HTML a script ends at the next closing tag, wherever it is.
        facts=json.dumps(facts, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"),
        notices=escape(_built("notices.txt")),
        **{name: _base64(held.get(name, b"")) for name in _HELD},
    )


def require_built() -> None:
    """Raise if the application is missing, before any data are read.

    Raises:
        DbtoolError: the application was not built.
    """
    _built("explorer.js")


def _built(name: str) -> str:
    """Return a file of the application, which must have been built."""
    try:
        return _read("built", name)
    except FileNotFoundError as error:
        # What pip copied elsewhere has no sources, and takes nothing from the checkout later.
        in_checkout = resources("dbtool.explorer").joinpath("page").is_dir()
        words = "make explorer" if in_checkout else "pip install ."
        raise DbtoolError(
            f"the explorer's application is not built: run `{words}` in the checkout, which needs "
            "Node.js 18 or newer with npm"
        ) from error


def _read(folder: str, name: str) -> str:
    return resources("dbtool.explorer").joinpath(folder, name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which the page's policy allows its own script or style."""
    return f"sha256-{_base64(hashlib.sha256(text.encode()).digest())}"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
