"""Which names and marks are explained where: over the panels, over one panel, or in the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.figures.kinds import RENDERERS, KeyEntry
from dbtool.figures.style import QUIET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.figures.panels import Panel


def needs_names(panel: Panel) -> bool:
    """Whether the panel's title does not say which curves it shows."""
    series = panel.series()
    told = len(series) == 1 and _words(next(iter(series))) <= _words(panel.title)
    return not told and RENDERERS[panel.kind].names_curves(panel)


def _words(text: str) -> set[str]:
    return set(text.casefold().replace(",", "").split())


def names_of(panel: Panel) -> list[KeyEntry]:
    """The panel's series, each with a sample of how it looks."""
    renderer = RENDERERS[panel.kind]
    return [
        KeyEntry(label, "", {"color": curve.colour, **renderer.sample(curve.name, 0)})
        for label, curve in panel.series().items()
    ]


def shared_names(panels: Sequence[Panel]) -> list[KeyEntry]:
    """The series of all panels, where one legend can name them; else nothing.

    It can where each panel's series are among those of the panel with the most, in their colours.
    """
    named = [panel for panel in panels if needs_names(panel)]
    if len(named) < 2 or len(named) < len(panels):
        return []
    fullest = max(named, key=lambda panel: len(panel.series()))
    colour_of = {label: curve.colour for label, curve in fullest.series().items()}
    if len(colour_of) < 2:
        return []
    agree = all(
        colour_of.get(label) == curve.colour
        for panel in named
        for label, curve in panel.series().items()
    )
    return names_of(fullest) if agree else []


def releases_of(panels: Sequence[Panel]) -> list[KeyEntry]:
    """The releases, where there are several, each with its marker and line."""
    names = {curve.place: curve.release for panel in panels for curve in panel.curves}
    if panels[0].releases < 2:
        return []
    renderer = RENDERERS[panels[0].kind]
    return [
        KeyEntry(f"release {names[place]}", "", {"color": QUIET, **renderer.sample("", place)})
        for place in sorted(names)
    ]


def key_of(panels: Sequence[Panel]) -> list[KeyEntry]:
    """The marks that occur in the figure, each once."""
    kinds = dict.fromkeys(panel.kind for panel in panels)
    entries = [
        entry
        for kind in kinds
        for entry in RENDERERS[kind].key([panel for panel in panels if panel.kind == kind])
    ]
    return list({entry.text: entry for entry in entries}.values())
