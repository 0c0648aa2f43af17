"""Lays out what Sphinx makes the site from; `make site` runs it.

The pages are the repository's own files, in the same folders: links between them lead the same way
as on a code host, and those to any other file to a copy of it.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from command_pages import command_pages

CHECKOUT = Path(__file__).parents[1]
WEBSITE = CHECKOUT / "docs" / "website"
# What links lead to.
FOLDERS = ("benchmarks/results", "data", "docs", "queries", "schema")
LEFT_OUT = shutil.ignore_patterns("*.parquet", "*.py", "website", "templates", "__pycache__")


def main(folder: Path) -> None:
    """Writes the pages, and the files that they link to.

    Args:
        folder: where; it must not be there.
    """
    for name in FOLDERS:
        shutil.copytree(CHECKOUT / name, folder / name, ignore=LEFT_OUT)
    for file in filter(Path.is_file, CHECKOUT.glob("[A-Z]*")):
        shutil.copy(file, folder)
    for page in folder.rglob("*.md"):
        page.write_text(_as_myst(page.read_text(encoding="utf-8")), encoding="utf-8")

    shutil.copy(WEBSITE / "python.rst", folder)
    pages = command_pages()
    (folder / "commands").mkdir()
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")

    _add(folder / "README.md", (WEBSITE / "navigation.md").read_text(encoding="utf-8"))
    listed = "\n".join(name for name in pages if name != "commands")
    _add(folder / "commands.md", f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n")


def _as_myst(text: str) -> str:
    """The text with anchors of HTML as targets that links of MyST find."""
    return re.sub(r'^<a id="([\w-]+)"></a>$', r"(\1)=", text, flags=re.MULTILINE)


def _add(page: Path, text: str) -> None:
    page.write_text(f"{page.read_text(encoding='utf-8')}\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
