import pytest

from dbtool.core.catalog import figure_curves
from dbtool.core.errors import UsageError
from dbtool.figures.specs import FIGURES, find_figure


@pytest.mark.parametrize(
    ("word", "name"),
    [
        *((word, "figure_01") for word in ("figure_01", "1", "01")),
        *(("Figure 3", "figure_03"), ("fig-4", "figure_04")),
        *(("steps", "steps"), ("learning_rates", "learning-rates")),
    ],
)
def test_a_figure_answers_to_its_name_and_its_number(word, name):
    assert find_figure(word).name == name


@pytest.mark.parametrize("word", ["figure_99", "0", "9z", "step", ""])
def test_another_word_names_the_closest(word):
    with pytest.raises(UsageError, match=r"unknown figure .* `dbtool plot --list`"):
        find_figure(word)


def test_every_figure_has_a_query_that_can_be_given_as_an_argument():
    # A query that opens with two dashes would be taken for an option.
    for spec in FIGURES:
        assert spec.query_path.read_text(encoding="utf-8").startswith("/*\n")


def test_the_list_of_curves_is_that_of_the_figures_that_read_it():
    listed = {curve["figure"] for curve in figure_curves()}
    reading = {
        spec.curves or spec.name
        for spec in FIGURES
        if "curves_of($figure)" in spec.query_path.read_text(encoding="utf-8")
    }
    assert listed == reading
    # A curve is named once in its panel, and a panel of one row once in its figure.
    names = [(each["figure"], each["panel"], each.get("series")) for each in figure_curves()]
    assert len(set(names)) == len(names)
