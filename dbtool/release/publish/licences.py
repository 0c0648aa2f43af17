"""What others call a licence whose SPDX identifier is given."""

from __future__ import annotations

_KNOWN = frozenset(
    {
        *("CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0"),
        *("CC-BY-NC-SA-4.0", "CC-BY-NC-ND-4.0", "CC-BY-ND-4.0", "CDLA-Permissive-1.0"),
        *("CDLA-Permissive-2.0", "CDLA-Sharing-1.0", "Apache-2.0", "MIT", "BSD-2-Clause"),
        *("BSD-3-Clause", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0"),
    }
)
# Where Hugging Face's name is not the identifier in small letters.
_HUGGING_FACE = {"ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by", "PDDL-1.0": "pddl"}


def is_spdx(licence: str | None) -> bool:
    """Whether it is an SPDX identifier that is known here."""
    return licence in _KNOWN


def licence_url(licence: str) -> str:
    """Where the licence is to be read; the licence itself where that is not known."""
    return f"https://spdx.org/licenses/{licence}.html" if licence in _KNOWN else licence


def hugging_face_licence(licence: str) -> str | None:
    """What Hugging Face calls it; None where it has no name for it."""
    return _HUGGING_FACE.get(licence, licence.lower()) if licence in _KNOWN else None
