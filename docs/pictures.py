"""Draws the pictures of a document anew: each is what the `dbtool plot` command above it draws.

Run `python docs/pictures.py DOCUMENT --db DATABASE`; `make docs` does it for docs/measured.md. A
picture stands below a block of code that draws one figure and nothing else, as SVG, in a folder
beside the document:

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

_PLOT_AND_PICTURE = re.compile(
    r"```\ndbtool (?P<words>plot [^\n]+)\n```\n\n!\[[^\]]*\]\((?P<file>[^)]+\.svg)\)"
)


def main() -> None:
    """Draws the pictures of the document that is named."""
    document, database = document_and_database(__doc__.splitlines()[0])
    for found in _PLOT_AND_PICTURE.finditer(document.read_text(encoding="utf-8")):
        picture = document.parent / found["file"]
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(drawn(shlex.split(found["words"]), database))


def drawn(words: list[str], database: Path) -> bytes:
    """The SVG file of the one figure that `dbtool` draws; ends the program where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        output_of(words, database, "--format", "svg", "--out", folder)
        (picture,) = Path(folder).glob("*.svg")
        return picture.read_bytes()


if __name__ == "__main__":
    main()
