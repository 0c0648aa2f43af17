"""Runs docs/notebook.ipynb in a fresh kernel, and writes what its cells show into it.

Run `make docs`, or `python docs/notebook.py docs/notebook.ipynb`; it changes nothing where a cell
fails. The notebook is edited in Jupyter, and reads the measurements of this checkout.
"""

from __future__ import annotations

import argparse
import base64
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from small_pictures import as_png

CHECKOUT = Path(__file__).resolve().parents[1]
# Nothing of the person who runs it plays a part, their settings of Jupyter among them.
_KEPT = ("PATH", "LANG")
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def main() -> None:
    """Runs and writes the notebook that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", type=Path)
    path = parser.parse_args().notebook
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory(prefix="dbtool-notebook-") as home:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        os.environ.clear()
        os.environ.update(kept, HOME=home)
        run(notebook)
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


def run(notebook: nbformat.NotebookNode) -> None:
    """Runs the cells; ends the program where one fails."""
    where = {"metadata": {"path": str(CHECKOUT)}}
    client = NotebookClient(notebook, kernel_name="python3", resources=where, record_timing=False)
    try:
        client.execute()
    except CellExecutionError as error:
        sys.exit(str(error))
    notebook.metadata = nbformat.from_dict(_METADATA)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata = {}
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
            for output in cell.outputs:
                if picture := output.get("data", {}).get("image/png"):
                    small = as_png(base64.b64decode(picture))
                    output.data["image/png"] = base64.b64encode(small).decode()


if __name__ == "__main__":
    main()
