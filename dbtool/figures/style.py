"""One look for every figure: colours, words, sizes.

Colours belong to names: a model, an optimizer or a data set has the same one in every figure.
Within a family (the widths of a network) they differ in lightness as well as in hue, so that they
can be told apart with any colour vision and in grey; beyond that every curve carries its name.
"""

from __future__ import annotations

import itertools
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dbtool.figures.names import form_a_sequence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INK = "#1f2328"
QUIET = "#5c6470"
FAINT = "#e4e7eb"
PERFECT = "#7a828e"
PAPER = "#ffffff"

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "simple_cnn_narrow": "#6cc3a0",
        "simple_cnn_base": "#12806a",
        "simple_cnn_wide": "#0a3f3a",
        "fc_64_64_64": "#e8a202",
        "fc_128_128_128": "#d8572a",
        "fc_256_256_256": "#b93160",
        "fc_512_512_512": "#8a2a7b",
        "fc_1024": "#a99bdc",
        "fc_1024_1024": "#7a67c4",
        "fc_1024_1024_1024": "#4d3aa0",
        "fc_2048_2048_2048": "#1d1b5e",
        "resnet_8": "#4393d3",
        "resnet_50": "#1565a9",
        "vgg_11": "#d8572a",
        "transformer_wide": "#5f1747",
        "transformer_base": "#b93170",
        "transformer_shallow": "#e3809f",
        "transformer_narrow_and_shallow": "#e8a202",
        "lstm": "#2a63c4",
        "sgd": "#e8a202",
        "momentum": "#4aa3df",
        "nesterov_momentum": "#173f8a",
        "adam": "#b93170",
        "adamw": "#5f1747",
        "rmsprop": "#12806a",
        "lars": "#6cc3a0",
        "lamb": "#0a3f3a",
        "muon": "#d8572a",
        "mnist": "#12806a",
        "fashion_mnist": "#d8572a",
        "cifar_10": "#4393d3",
        "imagenet": "#1565a9",
        "open_images_v4": "#e8a202",
        "lm1b": "#b93170",
        "common_crawl": "#5f1747",
        "goal achieved": "#1565a9",
        "goal not achieved": "#9aa3af",
        "infeasible": "#d8572a",
    }
)

# For names that no paper fixed, in the order they occur in a panel.
OTHER_COLOURS = ("#1565a9", "#d8572a", "#12806a", "#b93170", "#e8a202", "#4d3aa0", "#6cc3a0")

# For names that differ in a number: from light to dark, so that more is darker in grey as well.
SEQUENCE = ("#eeb12f", "#e8762c", "#cc3f5c", "#8f3487", "#4d3aa0", "#16164f")

STAR = "#f2b01e"
RING = "#b3261e"
BAND = "#eef0f3"
ACCENT = "#1565a9"

# Points; a figure is 7 inches wide, the width of two columns of print.
TITLE = 10.5
PANEL_TITLE = 8.5
LABEL = 8.0
SMALL = 7.0
TINY = 6.0
CAPTION = 6.8

DOTS_PER_INCH = 200

# Matplotlib types the keys as literals, which a mapping made elsewhere cannot be.
RC: Mapping[Any, Any] = MappingProxyType(
    {
        "font.family": "DejaVu Sans",
        "mathtext.fontset": "dejavusans",
        "text.color": INK,
        "axes.edgecolor": QUIET,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": FAINT,
        "grid.linewidth": 0.6,
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "font.size": LABEL,
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
        "xtick.major.size": 3.0,
        "ytick.major.size": 3.0,
        "xtick.minor.size": 1.6,
        "ytick.minor.size": 1.6,
        "xtick.major.width": 0.7,
        "ytick.major.width": 0.7,
        "xtick.minor.width": 0.5,
        "ytick.minor.width": 0.5,
        "xtick.major.pad": 2.5,
        "ytick.major.pad": 2.5,
        "lines.linewidth": 1.4,
        "lines.markersize": 4.6,
        "lines.markeredgewidth": 1.0,
        "lines.solid_capstyle": "round",
        "figure.facecolor": PAPER,
        "savefig.facecolor": PAPER,
        "svg.fonttype": "path",
        "svg.hashsalt": "dbtool",
        "pdf.fonttype": 42,
    }
)


SCALED = frozenset(name for name, value in RC.items() if isinstance(value, float))


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name of a panel, given in the order of its curves."""
    if form_a_sequence(names) and not all(name in COLOURS for name in names):
        return dict(zip(names, sequence(len(names)), strict=True))
    taken = {COLOURS[name] for name in names if name in COLOURS}
    free = [colour for colour in OTHER_COLOURS if colour not in taken] or OTHER_COLOURS
    others = itertools.cycle(free)
    return {name: COLOURS.get(name) or next(others) for name in names}


def sequence(count: int) -> list[str]:
    """So many colours from light to dark, as far from each other as SEQUENCE lets them be."""
    if count == 1:
        return [SEQUENCE[len(SEQUENCE) // 2]]
    places = [place * (len(SEQUENCE) - 1) / (count - 1) for place in range(count)]
    return [_between(place) for place in places]


def _between(place: float) -> str:
    """The colour at a place in SEQUENCE, mixed of its two neighbours."""
    index = min(int(place), len(SEQUENCE) - 2)
    low, high = (bytes.fromhex(SEQUENCE[i][1:]) for i in (index, index + 1))
    share = place - index
    mixed = (round(a + share * (b - a)) for a, b in zip(low, high, strict=True))
    return f"#{bytes(mixed).hex()}"
