"""Errors of code that is a user's or an installed package's, told with its line."""

import contextlib
import traceback
from collections.abc import Iterator

from dbtool.core.errors import DbtoolError

OWN_PATHS: set[str] = set()
"""The files of such code that were loaded."""


@contextlib.contextmanager
def blaming_own_code(code: str | None = None) -> Iterator[None]:
    """Tell what goes wrong in code of the user's own in one sentence, with its line.

    Errors that come from no line of it are blamed on `code`, and not caught where that is None.

    Raises:
        DbtoolError: an error was raised there, or in what it called.
    """
    try:
        yield
    except DbtoolError as error:
        if code is None:
            raise
        raise type(error)(f"{code}: {error}") from error
    except (Exception, SystemExit) as error:
        where = _line_of(error) or code
        if where is None:
            raise
        text = error.msg if isinstance(error, SyntaxError) else str(error).partition("\n")[0]
        raise DbtoolError(f"{where}: {type(error).__name__}: {text}".rstrip(": ")) from error


def _line_of(error: BaseException) -> str | None:
    """Return the last line of the user's own code that led to an error."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [(frame.filename, frame.lineno) for frame in frames]
    if isinstance(error, SyntaxError):
        lines.append((error.filename or "", error.lineno))
    return next((f"{path}, line {line}" for path, line in lines[::-1] if path in OWN_PATHS), None)
