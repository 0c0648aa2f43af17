"""Which names and marks are explained where: over the panels, over one panel, or in the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.figures import marks
from dbtool.figures.kinds import RENDERERS
from dbtool.figures.marks import Mark
from dbtool.figures.style import QUIET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from dbtool.figures.panel import Panel


def names_of(panel: Panel) -> list[Mark]:
    """The panel's series, each with a sample of how it looks; none where its title names them."""
    renderer, series = RENDERERS[panel.kind], panel.series()
    in_title = len(series) == 1 and _words(next(iter(series))) <= _words(panel.title)
    if in_title or not renderer.names_curves(panel):
        return []
    return [
        Mark(label, "", {"color": curve.colour, **renderer.sample(curve.name, 0)})
        for label, curve in series.items()
    ]


def _words(text: str) -> set[str]:
    return set(text.casefold().replace(",", "").split())


def shared_names(named: Sequence[Sequence[Mark]]) -> Sequence[Mark]:
    """Of the names of all panels those that one legend can hold for all; else nothing.

    It can where each panel's series are among those of the panel with the most, in their colours.
    """
    fullest = max(named, key=len)
    alike = all(names and all(mark in fullest for mark in names) for names in named)
    return fullest if alike and len(named) > 1 and len(fullest) > 1 else []


def releases_of(panels: Sequence[Panel]) -> list[Mark]:
    """The releases, where there are several, each with its marker and line."""
    if panels[0].releases < 2:
        return []
    renderer = RENDERERS[panels[0].kind]
    return [
        Mark(f"release {name}", "", {"color": QUIET, **renderer.sample("", index)})
        for index, name in sorted(_releases(panels).items())
    ]


def _releases(panels: Sequence[Panel]) -> dict[int, str]:
    return {curve.release_index: curve.release for panel in panels for curve in panel.curves}


def key_of(figure: Figure, panels: Sequence[Panel]) -> list[Mark]:
    """The marks that are drawn in a figure, each once; stars differ by release."""
    drawn = {
        str(artist.get_label()).partition(":")[0]
        for axes in figure.axes
        for artist in axes.get_children()
    }
    releases = sorted(_releases(panels).items())
    found = []
    for name, mark in marks.KEY.items():
        if name == "best" and name in drawn and len(releases) > 1:
            found += [
                Mark(
                    f"{mark.text} ({release})",
                    mark.shape,
                    {**mark.look, "markerfacecolor": marks.star_face(index)},
                )
                for index, release in releases
            ]
        elif name in drawn:
            found.append(mark)
    return found
