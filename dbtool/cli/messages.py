"""Messages that commands share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dbtool.core.errors import printable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


def tell(line: str) -> None:
    """Print a line on standard error; letters that would move the cursor are escaped."""
    sys.stderr.write(f"{printable(line)}\n")


def telling_unpublished(folder: Path) -> AbstractContextManager[None]:
    """Report on standard error if the block changes a published release."""
    from dbtool.core.release import telling_of_change

    return telling_of_change(folder, tell)
