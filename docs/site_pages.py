"""Lays out what Sphinx makes the site from; `make site` runs it.

The pages are the repository's own files, in the same folders: links between them lead the same way
as on a code host, and those to any other file to a copy of it.
"""

from __future__ import annotations

import base64
import re
import shutil
import sys
from pathlib import Path

import nbformat
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
    _write_notebook(folder / "docs" / "notebook.ipynb")
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


def _write_notebook(path: Path) -> None:
    """Writes a page beside a notebook: its words, its code, and what that printed and drew."""
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:  # type: ignore[no-untyped-call]
        parts.append(cell.source if cell.cell_type == "markdown" else _code(cell.source, "python"))
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text", "")})
            if picture := data.get("image/png"):
                name = f"notebook-{len(parts)}.png"
                (path.parent / name).write_bytes(base64.b64decode(picture))
                parts.append(f"![What this cell draws]({name})")
            elif text := data["text/plain"].rstrip():
                parts.append(_code(text, "text"))
    path.with_suffix(".md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _code(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


def _as_myst(text: str) -> str:
    """The text with anchors of HTML as targets that links of MyST find, and the notebook's page."""
    text = text.replace("notebook.ipynb)", "notebook.md)")
    return re.sub(r'^<a id="([\w-]+)"></a>$', r"(\1)=", text, flags=re.MULTILINE)


def _add(page: Path, text: str) -> None:
    page.write_text(f"{page.read_text(encoding='utf-8')}\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
