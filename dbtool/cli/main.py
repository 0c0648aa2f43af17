"""The command line's entry point, with its output and exit codes when something goes wrong."""

import atexit
import difflib
import gc
import io
import os
import re
import resource
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from dbtool import __version__
from dbtool.cli.registry import COMMANDS, LazyGroup
from dbtool.core.errors import DbtoolError, first_sentence, printable, unknown

INTERRUPTED = 130
# How native libraries say it, and the system's loader.
_OUT_OF_MEMORY = re.compile(
    r"allocate memory|out of memory|map segment|start new thread", re.IGNORECASE
)
_NO_MEMORY = (
    "there is not enough memory: close other programs, raise the limit of this process to 3 GiB "
    "or more (see `ulimit -v`), or ask for less at once"
)
# With less, native libraries end the process without a word.
_LEAST_ADDRESS_SPACE = 5 << 29
_NUMBER_WORDS = {int: "a whole number", float: "a number"}

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
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY and space < _LEAST_ADDRESS_SPACE:
        return 1, [_NO_MEMORY]
    try:
        code: int = app(args=words, prog_name="dbtool", standalone_mode=False) or 0
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED, ["interrupted"]
    except BaseException as error:
        # The panics of Polars are not exceptions of the usual kind.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        return failure(error, words)
    return code, ["interrupted"] if code == INTERRUPTED else []


def failure(error: BaseException, words: Sequence[str]) -> tuple[int, Sequence[str]]:
    """Return the exit code and the sentences of an error."""
    if _lacks_memory(error):
        return 1, [_NO_MEMORY]
    match error:
        case DbtoolError():
            return error.exit_code, error.args
        case TyperException():
            return error.exit_code, [_usage_sentence(error, words)]
        # Arrow's error has no number.
        case OSError() if isinstance(error, BrokenPipeError) or "Broken pipe" in str(error):
            _drop_standard_output()
            return 1, []
        case OSError() if error.errno is not None:
            _drop_standard_output()
            return 1, [f"cannot use {error.filename or 'standard output'}: {error.strerror}"]
    return 1, [_unexpected(error)]


def _lacks_memory(error: BaseException | None) -> bool:
    """Return whether an error, or what it was raised from, is a lack of memory."""
    while error is not None:
        told = not isinstance(error, DbtoolError) and _OUT_OF_MEMORY.search(str(error))
        if told or isinstance(error, MemoryError):
            return True
        error = error.__cause__
    return False


def _unexpected(error: BaseException) -> str:
    """Return a sentence about an error that no code foresaw; its details are in a file."""
    import traceback

    import platformdirs

    from dbtool.core.files import write_whole

    details = "".join(traceback.format_exception(error)).encode(errors="replace")
    path = platformdirs.user_cache_path("dbtool") / "failure.txt"
    where = f" and {path}"
    try:
        write_whole(path, details)
    except OSError:
        where = ""
    return (
        f"an unexpected error, {type(error).__name__} ({first_sentence(error)}); please report it "
        f"with the command{where}"
    )


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


def _usage_sentence(error: TyperException, words: Sequence[str]) -> str:
    """Return a sentence about wrong words, with the closest right ones and where to look."""
    context: typer.Context | None = getattr(error, "ctx", None)
    if context is not None:
        command = context.command_path
    else:
        # For an option without its value, Typer does not report the command.
        command = " ".join(["dbtool", *[word for word in words if word in COMMANDS][:1]])
    option = getattr(error, "option_name", None)
    # Typer makes only the base of its errors public. The one for an unknown option offers others.
    if option is not None and hasattr(error, "possibilities") and context is not None:
        if command == "dbtool sql" and any(map(str.isspace, option)):
            return (
                "a query that begins with -- is taken for an option; put another -- before it, as "
                "in `dbtool sql -- '--query'`"
            )
        return _unknown_option(option, context, command)
    reason = _usage_reason(error)
    if command == "dbtool sql" and reason.startswith("unexpected"):
        reason += "; put the query in quotes, as in `dbtool sql 'SELECT 1'`"
    return f"{reason} (see `{command} --help`)"


def _unknown_option(name: str, context: typer.Context, command: str) -> str:
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


def _usage_reason(error: TyperException) -> str:
    name = getattr(error, "option_name", None)
    if name is not None:
        return f"{name} takes no value" if "not take" in error.message else f"{name} needs a value"
    if isinstance(error, typer.BadParameter):
        # None where the parameter is missing.
        faults: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
        if error.param is not None and faults and isinstance(faults[0]["input"], str):
            option = max(error.param.opts, key=len)
            wanted = _valid_values(error.param)
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


def _valid_values(param: Any) -> str:
    """Return what a parameter's value should be; empty unless a number or one of a few choices."""
    described = param.type_descriptor
    if described.choices:
        choices = list(map(str, described.choices))
        return f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]
    kind = (getattr(described.annotation, "__args__", None) or (described.annotation,))[0]
    if kind not in _NUMBER_WORDS:
        return ""
    # Large bounds, which nobody needs, are shown by their size.
    least, most = described.parameter_info.min, described.parameter_info.max
    bounds = [
        f"{word} {limit:.4g}"
        for word, limit in (("from", least), ("to", most))
        if limit is not None
    ]
    return " ".join([_NUMBER_WORDS[kind], *bounds])
