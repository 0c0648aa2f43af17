"""Writes the tables of a document anew: each is what the `dbtool` command above it prints.

Run `python docs/tables.py DOCUMENT --db DATABASE`; `make docs` does it for docs/measured.md. A
table stands below a block of code that holds one query and nothing else:

    ```
    dbtool sql --file queries/analyses/summary.sql
    ```

    | release | workload | …

One is put below a query that has none yet.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

_QUERY_AND_TABLE = re.compile(
    r"(```\ndbtool (?P<words>sql [^\n]+)\n```\n\n)(?P<table>(?:\|[^\n]*\n)*)"
)


def main() -> None:
    """Rewrites the document that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("document", type=Path)
    parser.add_argument("--db", type=Path, required=True, help="the database that commands read")
    arguments = parser.parse_args()
    text = arguments.document.read_text(encoding="utf-8")
    arguments.document.write_text(with_tables(text, arguments.db), encoding="utf-8")


def with_tables(text: str, database: Path) -> str:
    """The text with each table as its command prints it from the database."""

    def written_anew(found: re.Match[str]) -> str:
        table = printed(shlex.split(found["words"]), database)
        return found[1] + (table if found["table"] else f"{table}\n")

    return _QUERY_AND_TABLE.sub(written_anew, text)


def printed(words: list[str], database: Path) -> str:
    """What `dbtool` prints as Markdown; ends the program where it fails."""
    command = [sys.executable, "-m", "dbtool", *words, "--db", str(database)]
    ended = subprocess.run(
        [*command, "--format", "markdown"], stdout=subprocess.PIPE, text=True, check=False
    )
    if ended.returncode:
        sys.exit(f"`{shlex.join(command)}` failed; mend it and run this again")
    return ended.stdout


if __name__ == "__main__":
    main()
