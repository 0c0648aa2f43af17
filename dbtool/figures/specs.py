"""The registry of figures: what each is called, what it asks, and the query that answers it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from dbtool.errors import unknown
from dbtool.resources import queries_folder

if TYPE_CHECKING:
    from pathlib import Path

Kind: TypeAlias = Literal["steps_to_result", "normalised", "learning_rates"]

FORMATS = ("png", "pdf", "svg")

PAPER = "Shallue et al., Measuring the Effects of Data Parallelism on Neural Network Training, 2019"
STEPS = "Steps to result"


@dataclass(frozen=True)
class FigureSpec:
    """A figure.

    Attributes:
        name: what it is called; also the stem of the files it is written to.
        number: its number in the paper, such as "1" or "9a"; None for a figure of our own.
        title: the heading above the panels.
        question: what the figure answers, one sentence.
        source: where the figure was first published, or that it is this project's own.
        kind: which points the query returns, and so how they are drawn.
        query: the file below queries/figures.
        x_label: the words along the horizontal axis.
        y_label: the words along the vertical axis.
        columns: panels side by side where there are enough of them.
        takes_workloads: whether the query has the parameter $workloads.
    """

    name: str
    number: str | None
    title: str
    question: str
    source: str
    kind: Kind
    query: str
    x_label: str = "Batch size"
    y_label: str = STEPS
    columns: int = 3
    takes_workloads: bool = False

    @property
    def query_path(self) -> Path:
        """The query's file."""
        return queries_folder() / "figures" / self.query


FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        name="figure_01",
        number="1",
        title="Steps to result against batch size",
        question="How do the steps to result depend on the batch size?",
        source=f"{PAPER}, figure 1",
        kind="steps_to_result",
        query="figure_01.sql",
    ),
    FigureSpec(
        name="figure_03",
        number="3",
        title="Steps to result against batch size, by model",
        question="How does the model change the effect of the batch size?",
        source=f"{PAPER}, figure 3",
        kind="normalised",
        query="figure_03.sql",
        y_label="Relative steps to result",
    ),
    FigureSpec(
        name="figure_04",
        number="4",
        title="Steps to result against batch size, by optimizer",
        question="How far does momentum extend the range of useful batch sizes?",
        source=f"{PAPER}, figure 4",
        kind="steps_to_result",
        query="figure_04.sql",
    ),
    FigureSpec(
        name="steps",
        number=None,
        title="Steps to result against batch size",
        question="Where do perfect scaling, diminishing returns and the plateau begin?",
        source="this project; drawn as figure 1 of the paper for any workloads",
        kind="steps_to_result",
        query="steps.sql",
        takes_workloads=True,
    ),
    FigureSpec(
        name="learning-rates",
        number=None,
        title="Learning rate of the best trial against batch size",
        question="Does the best learning rate follow a simple scaling rule?",
        source="this project; drawn as figure 8 of the paper for any workloads",
        kind="learning_rates",
        query="learning_rates.sql",
        y_label="Learning rate",
        takes_workloads=True,
    ),
)

_NUMBER = re.compile(r"(?:fig(?:ure)?\.?[ _-]?)?0*([1-9][0-9]*[a-z]?)", re.IGNORECASE)


def find_figure(word: str) -> FigureSpec:
    """The figure that a word names: its name, or its number in the paper ("1", "01", "9a").

    Raises:
        UsageError: no figure is called that.
    """
    number = _NUMBER.fullmatch(word.strip())
    name = word.strip().lower().replace("_", "-")
    for spec in FIGURES:
        if spec.name.replace("_", "-") == name:
            return spec
        if number is not None and spec.number == number[1].lower():
            return spec
    raise unknown("figure", word, [spec.name for spec in FIGURES], "dbtool plot --list")
