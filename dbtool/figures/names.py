"""What people call the names that the database uses, and names that form a sequence."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "simple_cnn_base": "Simple CNN",
        "simple_cnn_narrow": "Simple CNN, narrow",
        "simple_cnn_wide": "Simple CNN, wide",
        "simple_cnn": "Simple CNN",
        "resnet_8": "ResNet-8",
        "resnet_50": "ResNet-50",
        "vgg_11": "VGG-11",
        "transformer_base": "Transformer",
        "transformer_wide": "Transformer, wide",
        "transformer_shallow": "Transformer, shallow",
        "transformer_narrow_and_shallow": "Transformer, narrow shallow",
        "transformer_tiny": "Transformer, tiny",
        "lstm": "LSTM",
        "sgd": "SGD",
        "nesterov_momentum": "Nesterov momentum",
        "adam": "Adam",
        "adamw": "AdamW",
        "rmsprop": "RMSProp",
        "lars": "LARS",
        "lamb": "LAMB",
        "muon": "Muon",
        "mnist": "MNIST",
        "fashion_mnist": "Fashion MNIST",
        "cifar_10": "CIFAR-10",
        "imagenet": "ImageNet",
        "imagenet_half_images": "ImageNet, half the images",
        "imagenet_half_classes": "ImageNet, half the classes",
        "open_images_v4": "Open Images",
        "lm1b": "LM1B",
        "common_crawl": "Common Crawl",
        "brown": "the Brown corpus",
    }
)
_OPTIMIZERS = frozenset(
    {"sgd", "momentum", "nesterov_momentum", "adam", "adamw", "rmsprop", "lars", "lamb", "muon"}
)
_PUNCTUATION = frozenset(",;:")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_SUBSET = re.compile(r"mnist_(\d+)")
_NUMBER = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?\s*[kM]?(?![a-z])")


def readable(text: str) -> str:
    """The text with the database's names replaced by what people call them."""
    return " ".join(_readable_word(word) for word in one_line(text).split(" "))


def one_line(text: str) -> str:
    """The text with a space in place of line breaks and characters that no font has."""
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
    return _WORDS.get(word, word)


def _readable_path(path: str) -> str:
    """A workload, or a data set in its collection; a path that says more stays as it is."""
    *folders, name = path.split("/")
    if name in _OPTIMIZERS and len(folders) in {2, 3}:
        *collection, dataset, model = folders
        words = f"{_readable_word(model)} on {_readable_word(dataset)}, {_readable_word(name)}"
        return words + _readable_collection(collection)
    if len(folders) == 1 and (name in _WORDS or _SUBSET.fullmatch(name)):
        return _readable_word(name) + _readable_collection(folders)
    return path


def _readable_collection(folders: Sequence[str]) -> str:
    """What stands behind a data set in a collection; the names of subsets say enough."""
    if not folders or folders[0].endswith("_subsets"):
        return ""
    return f" ({folders[0].replace('_', ' ')})"


def form_a_sequence(names: Sequence[str]) -> bool:
    """Whether names differ in a number alone, as goals, budgets and batch sizes do."""
    patterns = {_NUMBER.sub("#", name).removesuffix("s") for name in names}
    return len(names) > 1 and len(patterns) == 1 and "#" in next(iter(patterns))
