"""The registry of figures, with the query of each, and what can be chosen of a picture."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec

from dbtool.core.checks import require_number
from dbtool.core.errors import UsageError, unknown
from dbtool.core.resources import queries_folder

PanelKind: TypeAlias = Literal[
    "steps_to_result",
    "normalised",
    "metaparameter",
    "best",
    "against",
    "table",
    "critical",
    "scatter",
    "grid",
    "curves",
    "forest",
    "units",
]
Scale: TypeAlias = Literal["log2", "log10", "linear"]
Caption: TypeAlias = Literal["figure", "none", "file"]

FORMATS = ("png", "pdf", "svg")
DATA_FORMATS = ("csv", "json", "parquet")
ALL = "all"
"""The word for every figure."""
_NARROWEST, _WIDEST = 2.5, 40.0
_COLUMN = 4.5  # narrower pictures are for a column of print, which has a caption of its own
_NUMBER = re.compile(r"(?:fig(?:ure)?\.?[ _-]?)?0*([1-9][0-9]*[a-z]?)", re.IGNORECASE)


class FigureSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure, as figures.toml describes it.

    Attributes:
        name: what it is called; also the stem of the files it is written to.
        title: the heading above the panels.
        question: what the figure answers, one sentence.
        kind: which points the query returns, where its rows do not say so themselves.
        heading: where the figure was first published, or that it is this project's own.
        like: the figure of the paper that it is drawn as; "" where it is one itself.
        query: the stem of the query's file; "" for the name.
        curves: the figure whose rows of the view figure_curves are drawn; "" for its own.
        metaparameter: which one is drawn where the query draws any.
        note: what else a reader should know, such as where the goals are from.
        x_label: of the horizontal axis; "" where the kind or the rows tell it.
        y_label: the same along the vertical axis.
        x_scale: of the horizontal axis; None: the kind's.
        y_scale: of the vertical axis; None: the kind's.
        columns: panels side by side where there are enough of them.
        takes_workloads: whether a request may name workloads.
        workloads: those that a query of any workloads is given for this figure.
        takes_only: which of the workloads with a goal the query draws, as in "workloads that
            search a momentum"; "": all.
        lacks: what a release lacks of curves that are left out although it has their trials; "":
            it has no data of them.
        in_published: whether the published release has what the figure is about.
        measure: what `dbtool produce --measure` has to measure for it; "": nothing.
    """

    name: str
    title: str
    question: str
    kind: PanelKind
    heading: str = ""
    like: str = ""
    query: str = ""
    curves: str = ""
    metaparameter: str = ""
    note: str = ""
    x_label: str = ""
    y_label: str = ""
    x_scale: Scale | None = None
    y_scale: Scale | None = None
    columns: int = 3
    takes_workloads: bool = False
    workloads: tuple[str, ...] = ()
    takes_only: str = ""
    lacks: str = ""
    in_published: bool = True
    measure: str = ""

    @property
    def number(self) -> str:
        """Its number in the paper, such as "1" or "9a"; "" where it has none."""
        found = _NUMBER.fullmatch(self.name)
        return found[1] if found else ""

    @property
    def label(self) -> str:
        """Its number in the paper, or its name."""
        return f"Figure {self.number}" if self.number else self.name

    @property
    def full_name(self) -> str:
        """Its title, preceded by its number where it has one."""
        return f"{self.label}: {self.title}" if self.number else self.title

    @property
    def source(self) -> str:
        """Where it was first published, or what it is like."""
        if self.number:
            return f"{self.heading}, figure {self.number}"
        return f"{self.heading}; {self.like}" if self.like else self.heading

    @property
    def command(self) -> str:
        """The command that draws it."""
        return f"dbtool plot {self.number or self.name}"

    def takes(self, parameter: str) -> bool:
        """Whether its query depends on a parameter, such as "goal" or "bands"."""
        return f"${parameter}" in self.query_path.read_text(encoding="utf-8")

    @property
    def query_path(self) -> Path:
        """The query's file."""
        stem = self.query or self.name.replace("-", "_")
        return queries_folder() / "figures" / f"{stem}.sql"


class _Source(msgspec.Struct):
    title: str
    figure: list[FigureSpec]


_SOURCES = msgspec.toml.decode(
    files("dbtool.figures").joinpath("figures.toml").read_text(encoding="utf-8"),
    type=dict[str, list[_Source]],
)["source"]
FIGURES = tuple(
    msgspec.structs.replace(spec, heading=source.title)
    for source in _SOURCES
    for spec in source.figure
)
"""Every figure, in the order of figures.toml."""


@dataclass(frozen=True)
class FigureLayout:
    """The layout of a figure.

    Attributes:
        width: in inches; None: as wide as suits its panels.
        title: whether there is a heading; None: not in a picture for a column, below 4.5 inches.
        caption: whether there is a caption in the figure, none, or one in a text file beside it;
            None: in the figure, but none in a picture for a column.

    Raises:
        UsageError: no picture is so wide, or there is no such caption.
    """

    width: float | None = None
    title: bool | None = None
    caption: Caption | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        if self.width is not None:
            require_number("width in inches", self.width, _NARROWEST, _WIDEST)
        if self.caption is not None and self.caption not in get_args(Caption):
            raise unknown("caption", self.caption, get_args(Caption), "dbtool plot --help")

    @property
    def is_of_column(self) -> bool:
        """Whether the figure is for a column of print."""
        return self.width is not None and self.width < _COLUMN

    @property
    def has_title(self) -> bool:
        """Whether there is a heading."""
        return not self.is_of_column if self.title is None else self.title

    @property
    def has_caption(self) -> bool:
        """Whether there is a caption in the figure."""
        return not self.is_of_column if self.caption is None else self.caption == "figure"


def find_figure(word: str) -> FigureSpec:
    """Return the figure of a name, or of a number in the paper ("1", "01", "9a").

    Raises:
        UsageError: no figure is called that.

    Example:
        >>> find_figure("9a").title
        'Where trials reach the goal within one epoch'
    """
    name = word.strip().lower().replace("_", "-")
    number = _NUMBER.fullmatch(name)
    for spec in FIGURES:
        if spec.name.replace("_", "-") == name or (number and spec.number == number[1]):
            return spec
    names = [spec.name for spec in FIGURES]
    # A number that none has is still like those of the same chapter.
    near = [each for each in names if number and each.startswith(f"figure_{number[1]:0>2}")]
    raise unknown("figure", word, near or names, "dbtool plot --list")


def chosen_specs(names: Sequence[str], *, any_workloads: bool) -> list[FigureSpec]:
    """Return the figures of some names or numbers, each once, in the order of figures.toml.

    The name "all" is every figure or, with any_workloads, each that takes any.

    Raises:
        UsageError: one names no figure, or there is none.
    """
    if not names:
        raise UsageError("name a figure, or `all` (list them with `dbtool plot --list`)")
    if ALL in names:
        return [spec for spec in FIGURES if spec.takes_workloads or not any_workloads]
    chosen = {find_figure(name) for name in names}
    return [spec for spec in FIGURES if spec in chosen]


def chosen_formats(kind: str, listed: str, known: Sequence[str]) -> list[str]:
    """Split a list of names, of a kind such as "format", at commas, without repetitions.

    Raises:
        UsageError: one of them is not known.
    """
    names = list(dict.fromkeys(name.strip().lower() for name in listed.split(",")))
    for name in names:
        if name not in known:
            raise unknown(kind, name, known, "dbtool plot --help")
    return names


def format_of(file: Path) -> str:
    """Return the format of a picture, one of FORMATS, by the suffix of its name.

    Raises:
        UsageError: the name ends otherwise.
    """
    if file.suffix[1:] not in FORMATS or not file.stem:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(f"{str(file)!r} names no picture; let it end with one of {endings}")
    return file.suffix[1:]
