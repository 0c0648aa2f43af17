"""A figure as a picture that a page carries inside."""

from __future__ import annotations

import base64
import re
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.figures.files import write_figure

if TYPE_CHECKING:
    from dbtool.figures.look import Look
    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec

CSS_PIXELS = 96
POINTS_PER_INCH = 72
METRES_PER_INCH = 0.0254
# Beyond this many bytes the same figure as dots may be smaller than as shapes.
LARGE = 400_000
_SVG_SIZE = re.compile(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"')


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        suffix: svg or png.
        data: the file's bytes.
        width: in CSS pixels, where there is room.
        height: likewise.
    """

    suffix: str
    data: bytes
    width: int
    height: int

    def data_uri(self) -> str:
        """An address that holds the picture itself."""
        kind = "svg+xml" if self.suffix == "svg" else self.suffix
        return f"data:image/{kind};base64,{base64.b64encode(self.data).decode()}"


def picture_of(points: Points, spec: FigureSpec, look: Look) -> Picture:
    """Draws a figure: as SVG, or as PNG where the SVG is large and the PNG smaller.

    Args:
        points: what the figure's query returned.
        spec: the figure.
        look: its width and style.

    Raises:
        OSError: the folder for temporary files cannot be written to.
    """
    svg = drawn_as(points, spec, look, "svg")
    if len(svg) <= LARGE:
        return svg_picture(svg)
    png = drawn_as(points, spec, look, "png")
    return png_picture(png) if len(png) < len(svg) else svg_picture(svg)


def drawn_as(points: Points, spec: FigureSpec, look: Look, suffix: str) -> bytes:
    """The bytes of a figure's file, of the kind that the suffix names.

    Raises:
        OSError: the folder for temporary files cannot be written to.
    """
    with tempfile.TemporaryDirectory() as folder:
        write_figure(points, spec, Path(folder), [suffix], look)
        return Path(folder, f"{spec.name}.{suffix}").read_bytes()


def svg_picture(data: bytes) -> Picture:
    """A picture from the SVG that Matplotlib writes, whose box is in points."""
    found = _SVG_SIZE.search(data)
    if found is None:
        raise ValueError("the SVG does not say how large it is")
    width, height = (round(float(size) / POINTS_PER_INCH * CSS_PIXELS) for size in found.groups())
    return Picture("svg", data, width, height)


def png_picture(data: bytes) -> Picture:
    """A picture from the PNG that Matplotlib writes, which says how many dots a metre has."""
    dots = struct.unpack(">II", data[16:24])
    start = data.index(b"pHYs") + 4
    per_metre = struct.unpack(">II", data[start : start + 8])
    width, height = (
        round(dot / density / METRES_PER_INCH * CSS_PIXELS)
        for dot, density in zip(dots, per_metre, strict=True)
    )
    return Picture("png", data, width, height)
