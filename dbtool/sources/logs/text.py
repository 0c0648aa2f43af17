"""Text logs, whose lines have the form that a mapping gives as files.line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError
from dbtool.sources.logs.log import STEP, LoggedRun, lines, long_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_NUMBER = r"([-+]?(?:\d+(?:,\d{3})*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)\b)"
_EXAMPLE = 'line = "iter {step}: loss {loss}"'


def is_log(path: Path) -> bool:
    """Return whether a file may be a text log by its ending."""
    return path.suffix in {".log", ".txt", ".out", ".err"}


def line_pattern(form: str) -> tuple[re.Pattern[str], list[str]]:
    """Compile the form of a line; return the pattern and the names of its groups.

    What is in braces is a number: the step, or a metric of that name. Blanks stand for any.

    Raises:
        UsageError: the form has no {step}, has it twice, or has nothing else.

    Example:
        >>> line_pattern("iter {step}: loss {loss}")[0].search("12:00 iter 7: loss 2.5,").groups()
        ('7', '2.5')
    """
    texts_and_names = re.split(r"\{([^{}]+)\}", form)
    texts, names = texts_and_names[::2], texts_and_names[1::2]
    if names.count(STEP) != 1 or len(names) < 2 or len(set(names)) < len(names):
        raise UsageError(
            f"files.line is {form!r}, and should have {{step}} and metrics in braces, each once, "
            f"as in {_EXAMPLE}"
        )
    escaped = [r"\s+".join(map(re.escape, re.split(r"\s+", text))) for text in texts]
    return re.compile(_NUMBER.join(escaped), re.IGNORECASE), names


def read(path: Path, forms: Sequence[str]) -> Iterator[LoggedRun]:
    """Yield the run of a file, of the lines that have one of the forms."""
    patterns = [line_pattern(form) for form in forms]
    rows = []
    for number, line in enumerate(lines(path), start=1):
        for pattern, names in patterns:
            if match := pattern.search(line):
                texts = (text.replace(",", "") for text in match.groups())
                values = dict(zip(names, texts, strict=True))
                step = values.pop(STEP)
                rows += [(number, step, name, value) for name, value in values.items()]
    yield LoggedRun(path.with_suffix(""), long_rows(rows))
