"""Requests of tests to servers of this machine."""

import pytest


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps requests to this machine off the proxies of the person who runs the tests."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
