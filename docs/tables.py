"""Writes the tables of a document anew: each is what the `dbtool` command above it prints.

Run `python docs/tables.py DOCUMENT --db DATABASE`; `make docs` does it for docs/measured.md. A
table stands below a block of code that holds one query and nothing else:

    ```
    dbtool sql summary
    ```

    | release | workload | …

One is put below a query that has none yet. Lines above the query may write tables that it joins:
`dbtool scaling … --format csv > FILE`, or `dbtool steps`.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path

from commands import document_and_database, output_of

_QUERY_AND_TABLE = re.compile(
    r"(```\n(?P<joined>(?:dbtool (?:scaling|steps) [^\n]+ > [\w.]+\n)*)"
    r"dbtool (?P<words>(?:sql|scaling) [^\n]+)\n```\n\n)(?P<table>(?:\|[^\n]*\n)*)"
)


def main() -> None:
    """Rewrites the document that is named."""
    document, database = document_and_database(__doc__.splitlines()[0])
    text = document.read_text(encoding="utf-8")
    document.write_text(with_tables(text, database), encoding="utf-8")


def with_tables(text: str, database: Path) -> str:
    """The text with each table as its command prints it from the database."""

    def written_anew(found: re.Match[str]) -> str:
        words = shlex.split(found["words"])
        with tempfile.TemporaryDirectory() as folder:
            for line in found["joined"].splitlines():
                command, _, name = line.removeprefix("dbtool ").rpartition(" > ")
                (Path(folder) / name).write_text(output_of(shlex.split(command), database))
                words = [each.replace(f"={name}", f"={folder}/{name}") for each in words]
            table = printed(words, database)
        return found[1] + (table if found["table"] else f"{table}\n")

    return _QUERY_AND_TABLE.sub(written_anew, text)


def printed(words: list[str], database: Path) -> str:
    """What `dbtool` prints as Markdown; ends the program where it fails."""
    return output_of(words, database, "--format", "markdown")


if __name__ == "__main__":
    main()
