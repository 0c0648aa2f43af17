"""What a figure is: its name, its question, and the query that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from dbtool.resources import queries_folder

if TYPE_CHECKING:
    from pathlib import Path

Kind: TypeAlias = Literal[
    "steps_to_result",
    "normalised",
    "metaparameter",
    "best",
    "against",
    "scatter",
    "grid",
    "curves",
]

PAPER = "Shallue et al., Measuring the Effects of Data Parallelism on Neural Network Training, 2019"
APPENDIX = f"{PAPER}, appendix"
SPARSITY = (
    "Lee et al., Understanding the Effects of Data Parallelism and Sparsity on "
    "Neural Network Training, 2021"
)
OURS = "this project"

BATCH_SIZE = "Batch size"
STEPS = "Steps to result"
RELATIVE_STEPS = "Relative steps to result"


@dataclass(frozen=True)
class FigureSpec:
    """A figure.

    Attributes:
        name: what it is called; also the stem of the files it is written to.
        number: its number in the paper, such as "1" or "9a"; None where it has none.
        title: the heading above the panels.
        question: what the figure answers, one sentence.
        source: where the figure was first published, or that it is this project's own.
        kind: which points the query returns, where its rows do not say so themselves.
        x_label: the words along the horizontal axis, where the rows do not say so.
        y_label: the words along the vertical axis, where the rows do not say so.
        columns: panels side by side where there are enough of them.
        takes_workloads: whether the query has the parameter $workloads.
        metaparameter: what workloads without are left out; None: all workloads have what it takes.
        compares: what alone the workloads of a panel differ in, where the query looks for such; a
            workload without another is left out.
        in_published: whether the published release has what the figure is about.
    """

    name: str
    number: str | None
    title: str
    question: str
    source: str
    kind: Kind
    x_label: str = BATCH_SIZE
    y_label: str = STEPS
    columns: int = 3
    takes_workloads: bool = False
    metaparameter: str | None = None
    compares: str | None = None
    in_published: bool = True

    @property
    def query(self) -> str:
        """The name of the query's file below queries/figures."""
        return f"{self.name.replace('-', '_')}.sql"

    @property
    def query_path(self) -> Path:
        """The query's file."""
        return queries_folder() / "figures" / self.query
