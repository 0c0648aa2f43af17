"""What other places call a licence whose SPDX identifier is given."""

from __future__ import annotations

_URL = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-3.0": "https://creativecommons.org/licenses/by/3.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-3.0": "https://creativecommons.org/licenses/by-sa/3.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "CC-BY-NC-SA-4.0": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
    "CC-BY-NC-ND-4.0": "https://creativecommons.org/licenses/by-nc-nd/4.0/",
    "CC-BY-ND-4.0": "https://creativecommons.org/licenses/by-nd/4.0/",
    "CDLA-Permissive-1.0": "https://spdx.org/licenses/CDLA-Permissive-1.0.html",
    "CDLA-Permissive-2.0": "https://spdx.org/licenses/CDLA-Permissive-2.0.html",
    "CDLA-Sharing-1.0": "https://spdx.org/licenses/CDLA-Sharing-1.0.html",
    "Apache-2.0": "https://spdx.org/licenses/Apache-2.0.html",
    "MIT": "https://spdx.org/licenses/MIT.html",
    "BSD-2-Clause": "https://spdx.org/licenses/BSD-2-Clause.html",
    "BSD-3-Clause": "https://spdx.org/licenses/BSD-3-Clause.html",
    "ODbL-1.0": "https://spdx.org/licenses/ODbL-1.0.html",
    "ODC-By-1.0": "https://spdx.org/licenses/ODC-By-1.0.html",
    "PDDL-1.0": "https://spdx.org/licenses/PDDL-1.0.html",
}
# Where Hugging Face's name is not the identifier in small letters.
_HUGGING_FACE = {"ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by", "PDDL-1.0": "pddl"}


def is_spdx(licence: str) -> bool:
    """Whether it is an SPDX identifier that is known here."""
    return licence in _URL


def licence_url(licence: str) -> str:
    """Where the licence is to be read; the licence itself where that is not known."""
    return _URL.get(licence, licence)


def hugging_face_licence(licence: str) -> str | None:
    """What Hugging Face calls it; None where it has no name for it."""
    if licence not in _URL:
        return None
    return _HUGGING_FACE.get(licence, licence.lower())
