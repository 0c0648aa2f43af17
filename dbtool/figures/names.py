"""What people call the names that the database uses, and names that form a sequence."""

import re
from collections.abc import Sequence
from importlib.resources import files

import msgspec

from dbtool.core.contract import is_maximized


class Name(msgspec.Struct, frozen=True):
    """The readable form and the colour of a name; "" where none is fixed."""

    called: str = ""
    colour: str = ""


_GROUPS = msgspec.toml.decode(
    files("dbtool.figures").joinpath("names.toml").read_text(encoding="utf-8"),
    type=dict[str, dict[str, Name]],
)
NAMES = {name: known for group in _GROUPS.values() for name, known in group.items()}
"""The names of names.toml."""

_SPLITS = {"train": "training", "val": "validation", "test": "test", "batch": "batch"}
_MEASURES = {
    "cross_entropy_error": "cross entropy",
    "classification_error": "error",
    "average_precision": "average precision",
}
_PUNCTUATION = frozenset(",;:")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_SUBSET = re.compile(r"mnist_(\d+)")
_NUMBER = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?\s*[kM]?(?![a-z])")


def readable(text: str) -> str:
    """Replace names of the database in a text by what people call them."""
    return " ".join(_readable_word(word) for word in one_line(text).split(" "))


def one_line(text: str) -> str:
    """Replace line breaks and characters that no font has by spaces."""
    return _UNPRINTABLE.sub(" ", text)


def _readable_word(word: str) -> str:
    if word[-1:] in _PUNCTUATION:
        return _readable_word(word[:-1]) + word[-1]
    if "/" in word:
        return _readable_path(word)
    if word.startswith("fc_"):
        return f"FC {word.removeprefix('fc_').replace('_', '-')}"
    if subset := _SUBSET.fullmatch(word):
        return f"MNIST, {int(subset[1]):,} images"
    split, _, measure = word.partition("_")
    if split in _SPLITS and measure in _MEASURES:
        return f"{_SPLITS[split]} {_MEASURES[measure]}"
    return NAMES.get(word, Name()).called or word


def _readable_path(path: str) -> str:
    *folders, name = path.split("/")
    if name in _GROUPS["optimizers"] and len(folders) in {2, 3}:
        *collection, dataset, model = folders
        words = f"{_readable_word(model)} on {_readable_word(dataset)}, {_readable_word(name)}"
    elif len(folders) == 1 and (name in _GROUPS["data_sets"] or _SUBSET.fullmatch(name)):
        collection, words = folders, _readable_word(name)
    else:
        return path
    # The names of subsets say enough.
    if not collection or collection[0].endswith("_subsets"):
        return words
    return f"{words} ({collection[0].replace('_', ' ')})"


def goal_words(metric: str, goal: float, *, inclusive: bool) -> str:
    """Return a goal in words.

    Example:
        >>> goal_words("val_classification_error", 0.01, inclusive=False)
        'validation error < 0.01'
    """
    strict, equal = (">", "≥") if is_maximized(metric) else ("<", "≤")
    return f"{readable(metric)} {equal if inclusive else strict} {goal}"


def sentence(words: str) -> str:
    """Capitalise the first letter."""
    return words[:1].upper() + words[1:]


def form_a_sequence(names: Sequence[str]) -> bool:
    """Whether names differ only in a number, as those of goals, budgets and batch sizes do."""
    patterns = {_NUMBER.sub("#", name).removesuffix("s") for name in names}
    return len(names) > 1 and len(patterns) == 1 and "#" in next(iter(patterns))
