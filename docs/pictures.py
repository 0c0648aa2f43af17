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

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

_PLOT_AND_PICTURE = re.compile(
    r"```\ndbtool (?P<words>plot [^\n]+)\n```\n\n!\[[^\]]*\]\((?P<file>[^)]+\.svg)\)"
)


def main() -> None:
    """Draws the pictures of the document that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("document", type=Path)
    parser.add_argument("--db", type=Path, required=True, help="the database that commands read")
    arguments = parser.parse_args()
    text = arguments.document.read_text(encoding="utf-8")
    for found in _PLOT_AND_PICTURE.finditer(text):
        picture = arguments.document.parent / found["file"]
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(drawn(shlex.split(found["words"]), arguments.db))


def drawn(words: list[str], database: Path) -> bytes:
    """The SVG file of the one figure that `dbtool` draws; ends the program where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "dbtool", *words, "--db", str(database)]
        ended = subprocess.run(
            [*command, "--format", "svg", "--out", folder], stdout=subprocess.PIPE, check=False
        )
        if ended.returncode:
            sys.exit(f"`{shlex.join(command)}` failed; mend it and run this again")
        (picture,) = Path(folder).glob("*.svg")
        return picture.read_bytes()


if __name__ == "__main__":
    main()
