"""Pictures in few bytes, since a clone of the repository carries every version of each."""

from __future__ import annotations

import io

from PIL import Image
from PIL.Image import Quantize

LARGE_PICTURE = 100_000
COLOURS = {Quantize.MEDIANCUT: 128, Quantize.MAXCOVERAGE: 192}


def as_webp(png: bytes, method: Quantize = Quantize.MEDIANCUT) -> bytes:
    """The picture in few colours, without other losses: two thirds of what PNG needs."""
    small = _quantized(png, method)
    # This one takes the shades of letters for alike, and so needs less.
    return small if len(small) <= LARGE_PICTURE else _quantized(png, Quantize.MAXCOVERAGE)


def as_png(png: bytes) -> bytes:
    """The picture in few colours, where nothing but PNG is shown."""
    small = io.BytesIO()
    _few_colours(png, Quantize.MAXCOVERAGE).save(small, format="png", optimize=True)
    return small.getvalue()


def _quantized(png: bytes, method: Quantize) -> bytes:
    small = io.BytesIO()
    _few_colours(png, method).convert("RGB").save(small, format="webp", lossless=True, quality=100)
    return small.getvalue()


def _few_colours(png: bytes, method: Quantize) -> Image.Image:
    with Image.open(io.BytesIO(png)) as image:
        return image.convert("RGB").quantize(COLOURS[method], method)
