"""What `dbtool COMMAND --help` says, as Markdown."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
import typer.main

from dbtool.cli.main import app
from dbtool.cli.registry import COMMANDS, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXAMPLE = "Example: "


class _Markdown(typer.Context.formatter_class):  # type: ignore[misc, valid-type]  # a variable
    """Writes help as Markdown in place of lines that suit a terminal."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        del prefix
        self.write(f"# {prog}\n\n## Usage\n\n")
        self._write_code(f"{prog} {args}")

    def write_text(self, text: str) -> None:
        for paragraph in text.split("\n\n"):
            line = " ".join(paragraph.split())
            if line.startswith(EXAMPLE):
                self.write(f"{EXAMPLE}\n\n")
                self._write_code(line.removeprefix(EXAMPLE))
            else:
                self.write(f"{_escaped(line)}\n\n")

    def write_dl(self, rows: Sequence[tuple[str, str]], *_: int) -> None:
        for term, meaning in rows:
            name = f"[{term}](commands/{term}.md)" if term in COMMANDS else f"`{term}`"
            self.write(f"{name}\n: {_escaped(meaning)}\n\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write(f"## {name}\n\n")
        yield

    def _write_code(self, text: str) -> None:
        self.write(f"```\n{text}\n```\n\n")


def command_pages() -> dict[str, str]:
    """The pages by their names: `commands`, which links to the others, and `commands/NAME`."""
    group = typer.main.get_command(app)
    assert isinstance(group, LazyGroup)  # noqa: S101 (for mypy, as below)
    root = group.make_context("dbtool", [], resilient_parsing=True)
    pages = {"commands": _page(group, root)}
    for name in COMMANDS:
        command = group.get_command(root, name)
        assert command is not None  # noqa: S101
        context = command.make_context(name, [], parent=root, resilient_parsing=True)
        pages[f"commands/{name}"] = _page(command, context)
    return pages


def _page(command: Any, context: Any) -> str:
    context.formatter_class = _Markdown
    text: str = command.get_help(context)
    return text


def _escaped(text: str) -> str:
    """A text in which nothing but code has a meaning in Markdown."""
    parts = re.split("(`[^`]+`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", part)
        for part in parts
    )
