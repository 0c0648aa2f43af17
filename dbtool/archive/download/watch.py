"""How a download is watched, and how long it is tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FETCHING = "fetching"
CHECKING = "checking"


@dataclass(frozen=True)
class Patience:
    """How long a failing address is tried.

    Attributes:
        retries: tries in a row that bring nothing new, after the first of them.
        timeout: seconds without a byte after which a connection is given up.
        first_wait: seconds before the first retry; the next waits are twice as long each.
        longest_wait: seconds that no wait exceeds, whatever a server asks for.
    """

    retries: int = 5
    timeout: float = 30.0
    first_wait: float = 1.0
    longest_wait: float = 60.0


@dataclass(frozen=True)
class Watch:
    """What is told while work goes on.

    Attributes:
        on_progress: called with FETCHING or CHECKING, the bytes done and the bytes in all, None
            where the server does not say.
        on_retry: called with the reason for a retry and the seconds until it.
    """

    on_progress: Callable[[str, int, int | None], None] = lambda _what, _done, _total: None
    on_retry: Callable[[str, float], None] = lambda _reason, _wait: None
