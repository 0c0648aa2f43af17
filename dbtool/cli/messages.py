"""Messages that commands share."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from dbtool.core.errors import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path


def tell(line: str) -> None:
    """Prints a line on standard error; letters that would move the cursor are written out."""
    sys.stderr.write(f"{printable(line)}\n")


def tell_where(folders: Collection[Path]) -> None:
    """Tells where releases were written: in which folder, or in which their folders lie."""
    if folders:
        [folder, *others] = dict.fromkeys(folders)
        tell(f"in {folder.parent if others else folder}")


def few_of(names: Sequence[str], most: int) -> str:
    """The first few of many names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@contextlib.contextmanager
def telling_unpublished(folder: Path) -> Iterator[None]:
    """Tells on standard error where the block changes a published release.

    What describes such a release, as its card and its hashes, would be wrong then and is removed.

    Args:
        folder: the release folder.
    """
    from dbtool.release.layout import CROISSANT

    was_published = (folder / CROISSANT).exists()
    try:
        yield
    finally:
        if was_published and not (folder / CROISSANT).exists():
            tell(
                f"{folder} was published and has changed, so its README.md and the like are gone; "
                f"write them anew with `dbtool publish {folder}`"
            )
