"""The columns of rows that are printed, and rows as text: an aligned table, Markdown or LaTeX."""

import itertools
import json
import operator
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.cli.messages import tell
from dbtool.cli.options import Format
from dbtool.core.errors import UsageError, closest, few_of, printable

if TYPE_CHECKING:
    from dbtool.cli.output import TypedRows

# These rows set the widths; later rows keep them, so memory stays small.
_ROWS_MEASURED = 1000
_NULL = "—"
_LINE = 80
_NUMERIC = frozenset(
    {"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"}
    | {"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint", "bignum"}
)
_GAP = "  "
_LEAST_OF_SENTENCE = 20
_LATEX = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
)
# Names that a table shows once above it where they are equal in all of its rows.
_SHARED = ("release", "workload", "metric", "goal")


@dataclass(frozen=True)
class View:
    """The columns that are printed.

    Attributes:
        first: the columns of a table, the most important first; empty: all.
        columns: the requested columns, joined by commas, in any format; None: all, or for a table
            those of `first`.
        wide: whether a table shows all columns, however wide the terminal is.
    """

    first: Sequence[str] = ()
    columns: str | None = None
    wide: bool = False

    @property
    def is_short(self) -> bool:
        """Whether a table shows only the columns of `first`."""
        return bool(self.first) and self.columns is None and not self.wide

    def positions(self, names: Sequence[str]) -> list[int]:
        """Return the positions of the columns that are printed in any format.

        Raises:
            UsageError: a requested column does not exist.
        """
        if self.columns is None:
            return list(range(len(names)))
        requested = [name.strip() for name in self.columns.strip(",").split(",")]
        for name in requested:
            if name not in names:
                near = ", ".join(closest(name, names))
                raise UsageError(
                    f"no column {name!r}; closest: {near} (all are {', '.join(names)})"
                )
        return [names.index(name) for name in requested]

    def of_table(self, names: Sequence[str]) -> list[int]:
        """Return the positions of the columns that a table shows if it has enough room."""
        chosen = self.first if self.is_short else names
        return [names.index(name) for name in chosen if name in names]


def print_text(rows: "TypedRows", output_format: Format, view: View) -> None:
    """Print rows as a table, as Markdown or as LaTeX; see `dbtool.cli.output.print_rows`."""
    names = [" ".join(printable(name).split()) for name in rows.schema.names]
    right = [kind.id in _NUMERIC for kind in rows.types]
    if output_format is Format.MARKDOWN:
        _print_markdown(names, right, _text_rows(rows, null=""))
    elif output_format is Format.LATEX:
        _print_latex(names, right, _text_rows(rows, null=""))
    else:
        _print_table(names, right, _text_rows(rows, null=_NULL), view)


def _text_rows(rows: "TypedRows", null: str) -> Iterator[list[str]]:
    """Yield the cells of each row, each on one line."""
    nested = rows.nested
    for table in rows.plain():
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            yield [
                null if value is None else _shown(value, is_nested=is_nested)
                for value, is_nested in zip(row, nested, strict=True)
            ]


def _shown(value: Any, *, is_nested: bool) -> str:
    """Return a value on one line, with numbers at six digits: for people, not for programs."""
    if is_nested:
        short = json.loads(value, parse_float=lambda digits: float(f"{float(digits):.6g}"))
        return printable(json.dumps(short, ensure_ascii=False))
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))


def _print_markdown(names: list[str], right: list[bool], rows: Iterator[list[str]]) -> None:
    rule = ["---:" if to_right else "---" for to_right in right]
    for cells in itertools.chain([names, rule], rows):
        escaped = (cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
        sys.stdout.write("| " + " | ".join(escaped) + " |\n")


def _print_table(
    names: list[str], right: list[bool], rows: Iterator[list[str]], view: View
) -> None:
    measured = list(itertools.islice(rows, _ROWS_MEASURED))
    widths = [max(map(len, column)) for column in zip(names, *measured, strict=True)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() and not view.wide else None

    def lacks_room(positions: Sequence[int]) -> bool:
        width = sum(widths[position] + len(_GAP) for position in positions) - len(_GAP)
        return room is not None and width > room

    shown = view.of_table(names)
    heading = None
    if lacks_room(shown) or view.is_short:
        if view.columns is None and 0 < len(measured) < _ROWS_MEASURED:
            shown = _without_shared(names, measured, shown)
        if lacks_room(shown):
            heading = _heading_of(names, shown, measured)
            shown = [position for position in shown if position != heading]
    fitted = {position: widths[position] for position in shown}
    if room is not None:
        sentences = {
            position for position in shown if any(" " in row[position] for row in measured)
        }
        fitted = _fitted(fitted, room, sentences)
    rule = ["-" * fitted.get(position, 0) for position in range(len(names))]
    before = None
    for number, cells in enumerate(itertools.chain([names, rule], measured, rows)):
        if number > 1 and heading is not None and cells[heading] != before:
            before = cells[heading]
            sys.stdout.write(f"{before}\n")
        _print_cells(cells, fitted, right, cut=room is not None)
    without_room = [names[position] for position in shown if position not in fitted]
    if without_room:
        tell(f"left out for want of room: {few_of(without_room, 5)}; see them with --wide")


def _print_cells(
    cells: Sequence[str], widths: Mapping[int, int], right: list[bool], *, cut: bool
) -> None:
    aligned = []
    for position, width in widths.items():
        cell = cells[position]
        if cut and len(cell) > width and " " in cell:
            cell = f"{cell[: width - 1]}…"
        aligned.append(cell.rjust(width) if right[position] else cell.ljust(width))
    sys.stdout.write(_GAP.join(aligned).rstrip() + "\n")


def _print_latex(names: list[str], right: list[bool], rows: Iterator[list[str]]) -> None:
    columns = "".join("r" if to_right else "l" for to_right in right)
    sys.stdout.write(f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n")
    for place, cells in enumerate(itertools.chain([names], rows)):
        line = " & ".join(cell.translate(_LATEX) for cell in cells)
        sys.stdout.write(f"{line} \\\\\n" + "\\midrule\n" * (place == 0))
    sys.stdout.write("\\bottomrule\n\\end{tabular}\n")


def _without_shared(
    names: Sequence[str], rows: Sequence[Sequence[str]], shown: list[int]
) -> list[int]:
    """Print what all rows share, such as one release, and return the other columns to show.

    Columns whose values are all missing are dropped, except `steps`, whose missing values are
    information: no trial reached the goal.
    """
    columns = zip(names, zip(*rows, strict=True), strict=True)
    only = {name: column[0] for name, column in columns if len(set(column)) == 1}
    shared = {name: only[name] for name in _SHARED if only.get(name, _NULL) != _NULL}
    if shared:
        texts = (f"goal {value}" if name == "goal" else value for name, value in shared.items())
        sys.stdout.write(f"{textwrap.fill(' · '.join(texts), _LINE)}\n\n")
    without = {name for name, value in only.items() if value == _NULL and name != "steps"}
    return [each for each in shown if names[each] not in shared.keys() | without] or shown


def _heading_of(
    names: Sequence[str], positions: Sequence[int], rows: Sequence[Sequence[str]]
) -> int | None:
    """Return the column of long names that a narrow table shows once above the rows of each name.

    It is the workload or model; None where neither is shown, or most rows have a name of their own.
    """
    for position in positions:
        if names[position] in {"workload", "model"}:
            changes = len(list(itertools.groupby(rows, operator.itemgetter(position))))
            return position if 2 * changes <= len(rows) else None
    return None


def _fitted(widths: Mapping[int, int], room: int, sentences: Collection[int]) -> dict[int, int]:
    """Return the columns that fit beside each other, at least one, and their widths in letters.

    The first columns have priority. Sentences are cut where the rest of them still tells something.
    Names and numbers, which are there to be copied, are complete or dropped.

    Args:
        widths: widths by position, the most important column first.
        room: letters of a line.
        sentences: positions of columns whose cells are text with spaces.
    """
    fitted: dict[int, int] = {}
    for position, width in widths.items():
        left = room - (len(_GAP) if fitted else 0)
        cut = min(width, left) if position in sentences and left >= _LEAST_OF_SENTENCE else width
        if cut <= left or not fitted:
            fitted[position] = cut
            room = left - cut
    return fitted
