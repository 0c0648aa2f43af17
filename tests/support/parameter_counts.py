"""How many parameters every model has, by arithmetic of its layers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from producers.datasets.forms import ImageForm, TextForm

if TYPE_CHECKING:
    from producers.datasets.forms import Form

# torchvision's vgg11 has just as many, its resnet50 so many. That one normalises after the first
# convolution, after every third one of a block instead of before the first, and its shortcuts, but
# not before the mean.
_VGG_11 = 132_863_336
_RESNET_50 = 25_557_032
_AFTER = [256] * 3 + [512] * 4 + [1024] * 6 + [2048] * 3
_MOVED = sum([64, *_AFTER[:-1]]) + 2048 - 64 - sum(_AFTER) - (256 + 512 + 1024 + 2048)

_SIMPLE_CNNS = {
    "simple_cnn_narrow": (16, 32, 512),
    "simple_cnn_base": (32, 64, 1024),
    "simple_cnn_wide": (64, 128, 2048),
}
# Layers, width and width inside the feed-forward layers.
_TRANSFORMERS = {
    "transformer_base": (6, 512, 2048),
    "transformer_wide": (6, 1024, 4096),
    "transformer_shallow": (2, 512, 2048),
    "transformer_narrow_and_shallow": (2, 256, 1024),
    "transformer_tiny": (2, 64, 256),
}


def parameter_count(model: str, form: Form) -> int:
    """Weights and biases, layer by layer."""
    if isinstance(form, ImageForm):
        return _of_images(model, form)
    assert isinstance(form, TextForm)
    return _of_texts(model, form.vocabulary)


def _of_images(model: str, form: ImageForm) -> int:
    sides, classes = (form.height, form.width), form.classes
    if model.startswith("fc_"):
        return _dense(sides[0] * sides[1] * form.channels, *_widths(model), classes)
    if model == "simple_cnn":
        # Of 28 pixels 24 are left, 12, 8 and 4.
        assert sides == (28, 28)
        return _convolutions((5, 1, 32), (5, 32, 64)) + _dense(4 * 4 * 64, classes)
    if model in _SIMPLE_CNNS:
        first, second, dense = _SIMPLE_CNNS[model]
        assert sides == (28, 28)
        convolutions = _convolutions((5, 1, first), (5, first, second))
        return convolutions + _dense(7 * 7 * second, dense, classes)
    if model == "resnet_8":
        return (
            _convolutions((3, 3, 16), (3, 16, 16), (3, 16, 16))
            + _convolutions((3, 16, 32), (3, 32, 32))
            + _convolutions((3, 32, 64), (3, 64, 64))
            + _dense(64, classes)
        )
    if model == "resnet_50":
        return _RESNET_50 + 2 * _MOVED - _dense(2048, 1000) + _dense(2048, classes)
    assert model == "vgg_11"
    last = {224: 7, 32: 1}[sides[0]] ** 2 * 512
    return _VGG_11 - _dense(7 * 7 * 512, 4096, 4096, 1000) + _dense(last, 4096, 4096, classes)


def _of_texts(model: str, vocabulary: int) -> int:
    if model == "lstm":
        # Four gates from the inputs and from the projected outputs; the projection; the logits.
        gates = 512 * 4 * 2048 + 4 * 2048 + 512 * 4 * 2048
        return vocabulary * 512 + gates + 2048 * 512 + _dense(512, vocabulary)
    layers, width, hidden = _TRANSFORMERS[model]
    attention = 4 * width * width
    norm = 2 * width
    # The embedding and the logits have a matrix each.
    of_layer = attention + _dense(width, hidden, width) + 2 * norm
    return 2 * vocabulary * width + layers * of_layer + norm


def _widths(model: str) -> list[int]:
    return [int(width) for width in model.split("_")[1:]]


def _dense(*widths: int) -> int:
    """Weights and biases of dense layers from each width to the next."""
    return sum(before * after + after for before, after in itertools.pairwise(widths))


def _convolutions(*sizes: tuple[int, int, int]) -> int:
    """Weights and biases of convolutions, each a kernel's side, its channels and its features."""
    return sum(side * side * channels * features + features for side, channels, features in sizes)
