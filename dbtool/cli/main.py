"""The command line's entry point, with its output and exit codes when something goes wrong."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from dbtool import __version__
from dbtool.cli.registry import LazyGroup
from dbtool.core.errors import DbtoolError, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130

app = typer.Typer(
    name="dbtool",
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="dbtool COMMAND --help explains a command. DBTOOL_DB names the releases to read.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dbtool {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def dbtool(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 (the callback does the work)
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """A database of loss measurements taken during training, across batch sizes.

    Example: dbtool steps 'mnist/*' --goal 0.05
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 for success, 1 for a failure, 2 for a wrong command.

    Args:
        arguments: the words after the program's name; None: those of this process.
    """
    _prepare_streams()
    code, sentences = _ended(sys.argv[1:] if arguments is None else arguments)
    for sentence in sentences:
        sys.stderr.write(f"dbtool: {printable(sentence)}\n")
    if code:
        # The error that ended the command and its frames form a cycle, which keeps a database.
        # DuckDB complains on standard error of a database that is open when Python 3.12 exits.
        atexit.register(gc.collect)
    sys.exit(code)


def _ended(words: Sequence[str]) -> tuple[int, Sequence[str]]:
    """Run a command; return its exit code, and sentences that say why it failed."""
    try:
        code: int = app(args=words, prog_name="dbtool", standalone_mode=False) or 0
        sys.stdout.flush()
    except DbtoolError as error:
        return error.exit_code, error.args
    except TyperException as error:
        from dbtool.cli.usage import usage_sentence

        return error.exit_code, [usage_sentence(error, words)]
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        _drop_standard_output()
        return 1, []
    except OSError as error:
        _drop_standard_output()
        return 1, [f"cannot use {error.filename or 'standard output'}: {error.strerror}"]
    return code, ["interrupted"] if code == INTERRUPTED else []


def _prepare_streams() -> None:
    """Make standard output and error accept whatever is printed."""
    # Python has None for a stream the shell closed; its number must not pass to a database's file.
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # An encoding may lack a letter of a name; a replacement is better than no rows.
            stream.reconfigure(errors="backslashreplace")


def _drop_standard_output() -> None:
    """Discard what is still buffered: the reader of the pipe has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
