"""What is worked out from texts once and kept in the user's cache: indexes and vocabularies."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from producers.datasets.folders import default_cache

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def cache_folder(kind: str) -> Path:
    """The folder that keeps one kind of what is worked out from texts, such as `indexes`."""
    return default_cache() / "text" / kind


def key_of(*parts: object) -> str:
    """A name for what follows from some inputs: a hash of them, in hexadecimal."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


def digest_of(hashes: Iterable[tuple[str, str]]) -> str:
    """One sha256, in hexadecimal, of the names and hashes of some files."""
    lines = "".join(f"{name} {digest}\n" for name, digest in hashes)
    return hashlib.sha256(lines.encode()).hexdigest()
