"""Explains wrong words of a command in one sentence."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from typer import BadParameter

from dbtool.cli.registry import COMMANDS
from dbtool.core.errors import unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer import Context
    from typer.exceptions import TyperException

_NUMBERS = {int: "a whole number", float: "a number"}


def usage_sentence(error: TyperException, words: Sequence[str]) -> str:
    """Return a sentence about wrong words, with the closest right ones and where to look.

    Args:
        error: Typer's error for them.
        words: the words after the program's name.
    """
    context: Context | None = getattr(error, "ctx", None)
    if context is not None:
        command = context.command_path
    else:
        # For an option without its value, Typer does not report the command.
        command = " ".join(["dbtool", *[word for word in words if word in COMMANDS][:1]])
    option = getattr(error, "option_name", None)
    # Of its classes for wrong words, Typer makes only the base public.
    if option is not None and type(error).__name__ == "NoSuchOption" and context is not None:
        if command == "dbtool sql" and any(map(str.isspace, option)):
            return (
                "a query that begins with -- is taken for an option; put another -- before it, as "
                "in `dbtool sql -- '--query'`"
            )
        return _unknown_option(option, context, command)
    reason = _reason(error)
    if command == "dbtool sql" and reason.startswith("unexpected"):
        reason += "; put the query in quotes, as in `dbtool sql 'SELECT 1'`"
    return f"{reason} (see `{command} --help`)"


def _unknown_option(name: str, context: Context, command: str) -> str:
    known = {
        each for param in context.command.params for each in param.opts if each.startswith("-")
    }
    known.update(context.help_option_names)
    if context.parent is None and not difflib.get_close_matches(name, known):
        return (
            f"unknown option {name!r} before the name of a command; a command's own options stand "
            f"after it, as in `dbtool steps 'mnist/*' --goal 0.05` (see `{command} --help`)"
        )
    return str(unknown("option", name, known, f"{command} --help"))


def _reason(error: TyperException) -> str:
    name = getattr(error, "option_name", None)
    if name is not None:
        return f"{name} takes no value" if "not take" in error.message else f"{name} needs a value"
    if isinstance(error, BadParameter) and type(error).__name__ != "MissingParameter":
        faults: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
        if error.param is not None and faults and isinstance(faults[0]["input"], str):
            option = max(error.param.opts, key=len)
            wanted = _wanted(error.param)
            if wanted:
                if error.param.multiple and "," in faults[0]["input"]:
                    wanted += ", given once for each"
                return f"{option} is {faults[0]['input']!r}, and should be {wanted}"
    # Typer does not decide between singular and plural nouns.
    if (extra := error.message.removeprefix("Got unexpected extra argument(s) (")) != error.message:
        extra = extra.removesuffix(")")
        return f"unexpected word{'s' if ' ' in extra else ''}: {extra}"
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"


def _wanted(param: Any) -> str:
    """Return what a parameter's value should be; empty unless a number or one of a few choices."""
    described = param.type_descriptor
    if described.choices:
        choices = list(map(str, described.choices))
        return f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]
    kind = (getattr(described.annotation, "__args__", None) or (described.annotation,))[0]
    if kind not in _NUMBERS:
        return ""
    # Large bounds, which nobody needs, are shown by their size.
    least, most = described.parameter_info.min, described.parameter_info.max
    bounds = [
        f"{word} {limit:.4g}"
        for word, limit in (("from", least), ("to", most))
        if limit is not None
    ]
    return " ".join([_NUMBERS[kind], *bounds])
