"""The manifest of a release folder: what it holds, and the hash of every file.

Its form is schema/manifest.schema.json.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1


@dataclass(frozen=True)
class ReleaseFile:
    """One shard of a release.

    Attributes:
        path: below the release folder, with forward slashes.
        sha256: of the whole file, in hexadecimal.
        bytes: its size.
        workload: the workload of its study.
        batch_size: the batch size of its study.
        trials: how many trials it holds.
        measurements: how many rows it holds.
    """

    path: str
    sha256: str
    bytes: int
    workload: str
    batch_size: int
    trials: int
    measurements: int


@dataclass(frozen=True)
class Manifest:
    """What a release folder holds.

    Attributes:
        release: the release's name.
        title: one line on what it is.
        licence: SPDX identifier of the measurements' licence.
        dbtool: version that wrote the folder.
        shard_format: format of its shards.
        reduced: what was left out or rounded, as `dbtool.release.reduction` records it.
        files: its shards, sorted by path.
        citation: BibTeX; None where the release gives none.
    """

    release: str
    title: str
    licence: str
    dbtool: str
    shard_format: int
    reduced: dict[str, Any]
    files: tuple[ReleaseFile, ...]
    citation: str | None = None

    def to_json(self) -> str:
        """The text of manifest.json, the same for the same release."""
        content = {
            "manifest_format": MANIFEST_FORMAT,
            **asdict(self),
            "totals": {
                "files": len(self.files),
                "bytes": sum(file.bytes for file in self.files),
                "trials": sum(file.trials for file in self.files),
                "measurements": sum(file.measurements for file in self.files),
            },
        }
        if self.citation is None:
            del content["citation"]
        return json.dumps({**content, "sha256": _digest(content)}, indent=1, sort_keys=True) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a release folder.

    Raises:
        DbtoolError: when it is missing, damaged, or of another format.
    """
    path = folder / MANIFEST
    try:
        # As bytes, so that no changed line end passes for the one that was written.
        text = path.read_bytes().decode()
        content = json.loads(text)
        content.pop("sha256")
        found = content.pop("manifest_format")
        content.pop("totals")
        if found != MANIFEST_FORMAT:
            raise DbtoolError(
                f"{path} has manifest format {found} and this dbtool reads {MANIFEST_FORMAT}; "
                "install the version of dbtool that wrote it"
            )
        files = tuple(ReleaseFile(**file) for file in content.pop("files"))
        manifest = Manifest(**content, files=files)
        expected = manifest.to_json()
    except OSError as error:
        raise DbtoolError(
            f"{path} cannot be read: {error.strerror}; get the release anew"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DbtoolError(f"{path} is not a sound manifest; get the release anew") from error
    # Also finds a change that leaves the meaning alone, such as a blank more.
    if text != expected:
        raise DbtoolError(
            f"{path} was altered: its own digest does not match; get the release anew"
        )
    return manifest


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
