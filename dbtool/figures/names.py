"""What people call the names that the database uses."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "simple_cnn_base": "Simple CNN",
        "simple_cnn_narrow": "Simple CNN, narrow",
        "simple_cnn_wide": "Simple CNN, wide",
        "resnet_8": "ResNet-8",
        "resnet_50": "ResNet-50",
        "vgg_11": "VGG-11",
        "transformer_base": "Transformer",
        "transformer_wide": "Transformer, wide",
        "transformer_shallow": "Transformer, shallow",
        "transformer_narrow_and_shallow": "Transformer, narrow shallow",
        "lstm": "LSTM",
        "sgd": "SGD",
        "nesterov_momentum": "Nesterov momentum",
        "mnist": "MNIST",
        "fashion_mnist": "Fashion MNIST",
        "cifar_10": "CIFAR-10",
        "imagenet": "ImageNet",
        "open_images_v4": "Open Images",
        "lm1b": "LM1B",
        "common_crawl": "Common Crawl",
    }
)


def readable(text: str) -> str:
    """The text with the database's names replaced by what people call them."""
    return " ".join(_readable_word(word) for word in text.split(" "))


def _readable_word(word: str) -> str:
    if word in _WORDS:
        return _WORDS[word]
    if word.startswith("fc_"):
        return f"FC {word.removeprefix('fc_').replace('_', '-')}"
    return word
