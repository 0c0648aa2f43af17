"""Requests of tests to servers of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps requests to this machine off the proxies of the person who runs the tests."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
