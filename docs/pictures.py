"""Draws the pictures of a document anew: each is what the command above it draws.

Run `python docs/pictures.py DOCUMENT --db DATABASE`; `make docs` does it for docs/measured.md and
docs/scaling.md. A picture stands below a block of code that draws one figure and nothing else, with
`dbtool plot` or `dbtool scaling --out`, as SVG or WebP, in a folder beside the document:

    ```
    dbtool plot optimizers --workload 'mnist/simple_cnn_base/*' --goal 0.03
    ```

    ![What it shows](pictures/convolutional-optimizers.svg)

Pictures of figures as they are without options are those of docs/figures.md.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path

from commands import document_and_database, output_of
from small_pictures import as_webp

_COMMAND_AND_PICTURE = re.compile(
    r"```\ndbtool (?P<words>(?:plot|scaling) [^\n]+)\n```\n\n"
    r"!\[[^\]]*\]\((?P<file>[^)]+\.(?:svg|webp))\)"
)


def main() -> None:
    """Draws the pictures of the document that is named."""
    document, database = document_and_database(__doc__.splitlines()[0])
    for found in _COMMAND_AND_PICTURE.finditer(document.read_text(encoding="utf-8")):
        picture = document.parent / found["file"]
        picture.parent.mkdir(exist_ok=True)
        words = shlex.split(found["words"])
        if picture.suffix == ".webp":
            picture.write_bytes(as_webp(drawn(words, database, "png")))
        else:
            picture.write_bytes(drawn(words, database, "svg"))


def drawn(words: list[str], database: Path, kind: str) -> bytes:
    """The file of the one figure that `dbtool` draws; ends the program where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        if words[0] == "plot":
            output_of(words, database, "--format", kind, "--out", folder)
        else:
            output_of(words, database, "--out", f"{folder}/picture.{kind}")
        (picture,) = Path(folder).glob(f"*.{kind}")
        return picture.read_bytes()


if __name__ == "__main__":
    main()
