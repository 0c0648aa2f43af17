"""The list of commands, and the group that imports a command only when it is called."""

import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer
import typer.main
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from dbtool.cli.options import SHARED
from dbtool.core.errors import UsageError, unknown

# The first line of each function's docstring, kept here so that listing imports nothing.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Read": {
        "releases": "List the releases with their sizes.",
        "workloads": "List the workloads with their goals and sizes.",
        "studies": "List the studies: one batch size of one workload each.",
        "trials": "List the trials of a workload.",
        "steps": "Print the steps to result of a workload at each batch size.",
        "scaling": "Tell how far larger batches help on a workload, and how sure that is.",
        "sql": "Run one SQL query and print its rows.",
    },
    "Draw": {
        "plot": "Draw figures, and write their points as CSV beside them.",
        "explore": "Write a page for the browser on which goals are sliders and points lead to "
        "their trials.",
    },
    "Add": {
        "fetch": "Download the published archive or another public source, and check it.",
        "import": "Import an archive in the published format, or another public source, into a "
        "release of yours.",
        "produce": "Train workloads and write their measurements into a release folder.",
        "ingest": "Add release folders, or runs of other tools, to your releases.",
        "forget": "Remove a release from your own releases.",
        "pull": "Download a whole published release from a server, and check it.",
    },
    "Check and share": {
        "verify": "Check every byte of releases.",
        "index": "Rebuild the index and the manifest of a release from its shards.",
        "diff": "Print how two releases differ, a row a difference.",
        "publish": "Make a release a folder for any static host or object store.",
        "export": "Write measurements into a file of another format.",
        "cite": "Print BibTeX entries for the releases.",
        "doctor": "Say what is installed, where data are, and what is missing.",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
_MODULES = {
    "dbtool.cli.browse": ("releases", "workloads", "studies", "trials", "steps"),
    "dbtool.cli.scaling": ("scaling",),
    "dbtool.cli.sql": ("sql",),
    "dbtool.cli.figures": ("plot", "explore"),
    "dbtool.cli.sources": ("fetch", "import", "ingest", "pull"),
    "producers.cli.command": ("produce",),
    "dbtool.cli.releases": ("verify", "index", "diff", "forget", "publish", "export", "cite"),
    "dbtool.cli.doctor": ("doctor",),
}
# Of functions that have another name than their command.
_FUNCTIONS = {"import": "import_", "produce": "command"}
_OTHER_WORDS = {
    "workloads": ("list", "ls", "show"),
    "sql": ("measurements", "query", "select"),
    "steps": ("best",),
    "plot": ("draw", "figures"),
    "produce": ("train", "run", "sweep"),
    "ingest": ("add", "load"),
    "fetch, pull": ("download",),
    "verify": ("check",),
    "forget": ("remove", "delete"),
    "--help": ("help",),
    "diff": ("compare",),
    "publish": ("upload",),
}
"""Our commands, with other programs' names for them."""
WORDS = {
    "release": "measurements published together",
    "workload": "a data set, a model and an optimizer, with a goal",
    "study": "a search for a workload's metaparameters at one batch size",
    "trial": "one training run of a study, with metaparameters of its own",
    "metaparameter": "a setting of training, such as the learning rate, that is searched",
    "measurement": "the losses and errors of a trial at one step",
    "goal": "the value of a metric to get past: below it or, where more is better, above it",
    "steps to result": "the fewest steps that any trial of a study took past the goal",
    "complete": "of a trial: it was trained to its end",
    "infeasible": "of a trial: it diverged, so that its loss was not a number any more",
    "incomplete": "of a trial: it was stopped before its end",
}
"""The meaning of the commands' words."""


# A parameter in a docstring: its name, its metavariable in brackets, and the sentence on it.
_DOCUMENTED = re.compile(r"(\w+)(?: \((.+?)\))?: (.+)")


def function_of(name: str) -> Any:
    """Import the function of a command."""
    [module] = [module for module, names in _MODULES.items() if name in names]
    return getattr(importlib.import_module(module), _FUNCTIONS.get(name, name))


def _nothing(ctx: object) -> str | None:  # noqa: ARG001 (Typer's signature)
    """Return no type for an argument, whose help describes it."""
    return None


class LazyGroup(TyperGroup):
    """A group of commands, each imported when it is called.

    The Click classes inside Typer have no public names: here they are Any or object.
    """

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002 (Typer's signature)
        """List the commands' names, in the registry's order."""
        return list(COMMANDS)

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ARG002 (Typer's signature)
        """Import and return the command of that name; None for other names.

        Its help, and that of the parameters that only it has, is the docstring of its function;
        `SHARED` describes the others. Its module may define its own class for it, `Command`.
        """
        if cmd_name not in COMMANDS:
            return None
        function = function_of(cmd_name)
        holder = typer.Typer(
            add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
        )
        kind = getattr(sys.modules[function.__module__], "Command", TyperCommand)
        text, _, arguments = (inspect.getdoc(function) or "").partition("\n\nArgs:\n")
        described = _described_parameters(SHARED) | _described_parameters(arguments)
        holder.command(cmd_name, cls=kind, help=text)(function)
        command = typer.main.get_command(holder)
        for each in command.params:
            if isinstance(each, TyperArgument):
                # Typer would also print the Python types.
                each.display_type_rich = _nothing  # type: ignore[method-assign]
            if isinstance(each, TyperArgument | TyperOption) and each.help is None:
                metavar, each.help = described[each.name or ""]
                each.metavar = each.metavar or metavar
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the first argument names, and the arguments after it.

        Raises:
            UsageError: the command does not exist.
        """
        if ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if args[0] not in COMMANDS:
            for ours, others in _OTHER_WORDS.items():
                if args[0].lower() in others:
                    raise UsageError(
                        f"unknown command {args[0]!r}; closest: {ours} (list them with `dbtool "
                        "--help`)"
                    )
            raise unknown("command", args[0], COMMANDS, "dbtool --help")
        _refuse_empty(args)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: object, formatter: Any) -> None:  # noqa: ARG002 (Typer's signature)
        """Write the commands, without importing them, and the meaning of their words."""
        for group, entries in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(list(entries.items()))
        with formatter.section("Words"):
            formatter.write_dl(list(WORDS.items()))


def _described_parameters(arguments: str) -> dict[str, tuple[str | None, str]]:
    """Return the metavariable and the help of each parameter in a docstring's list of them."""
    paragraphs = (" ".join(each.split()) for each in re.split(r"\n(?=    \w)", arguments))
    matches = filter(None, map(_DOCUMENTED.fullmatch, paragraphs))
    return {found[1]: (found[2], found[3]) for found in matches}


def _refuse_empty(words: Sequence[str]) -> None:
    """Refuse an empty word or value, such as that of a shell variable that is not set."""
    for before, word in itertools.pairwise(words):
        if not word or (word.startswith("--") and word.endswith("=")):
            option = word or before
            name = option.removesuffix("=") if option.startswith("-") else "an argument"
            raise UsageError(
                f"{name} is empty: say what it should be, or leave it out "
                f"(see `dbtool {words[0]} --help`)"
            )
