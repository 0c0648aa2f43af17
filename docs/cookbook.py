"""Writes docs/cookbook.md: the analyses with what each answers, its SQL and what it prints.

Run `make docs`, or `python docs/cookbook.py docs/cookbook.md --db FILE` with the folder of the
bundled release alone.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from string import Template

from commands import document_and_database
from tables import printed

from dbtool.store.questions import analyses, query_text

CHECKOUT = Path(__file__).resolve().parents[1]
_TEMPLATE = Path(__file__).parent / "templates" / "cookbook.md"
# In the order of the page.
NAMES = (
    "summary",
    "efficiency",
    "best_by_epochs",
    "optima",
    "sensitivity",
    "divergence",
    "best_of_k",
    "enough_trials",
    "luck",
    "best_curves",
)
MOST_ROWS = 13
WHOLE_SEARCHES = "data/measured"


def main() -> None:
    """Writes the document that is named."""
    page, database = document_and_database(__doc__.splitlines()[0])
    page.write_text(document(database), encoding="utf-8", newline="")


def document(database: Path) -> str:
    """The document, with what the queries print from a database."""
    questions = analyses()
    contents = [f"- [{questions[name]}](#{name})" for name in NAMES]
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        contents="\n".join(contents),
        analyses="\n".join(analysis(name, database) for name in NAMES),
    )


def split_comment(sql: str) -> tuple[str, str, str]:
    """The question that a query's comment begins with, the rest of the comment, and the query."""
    lines = sql.splitlines()
    count = next(number for number, line in enumerate(lines) if not line.startswith("--"))
    comment = "\n".join(line.removeprefix("--").strip() for line in lines[:count])
    # Only blank lines and the items of lists begin a line anew.
    question, *about = re.sub(r"(?<!\n)\n(?!\n|- )", " ", comment).split("\n\n")
    return question, "\n\n".join(about), "\n".join(lines[count:]).strip()


def analysis(name: str, database: Path) -> str:
    """One analysis of the document."""
    file = f"queries/analyses/{name}.sql"
    question, about, sql = split_comment(query_text(name))
    words, shown = ["sql", name], []
    rows = printed(words, database)
    if _count(rows) == 0:
        # Such as analyses of whole searches, of a database of searches in lockstep.
        database, shown = CHECKOUT / WHOLE_SEARCHES, ["--db", WHOLE_SEARCHES]
        rows = printed(words, database)
    if _count(rows) > MOST_ROWS:
        words += ["--limit", str(MOST_ROWS)]
        rows = printed(words, database)
    command = shlex.join([*words, *shown])
    return (
        f'<a id="{name}"></a>\n\n## {question}\n\n{about}\n\n```\ndbtool {command}\n'
        f"```\n\n{rows}\n<details><summary>{file}</summary>\n\n```sql\n{sql}\n```\n\n</details>\n"
    )


def _count(rows: str) -> int:
    """The rows of a table in Markdown, below its head and a line."""
    return rows.count("\n") - 2


if __name__ == "__main__":
    main()
