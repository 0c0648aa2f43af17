"""Writes docs/cookbook.md: the analyses with what each answers, its SQL and what it prints.

Run `make docs`, or `python docs/cookbook.py docs/cookbook.md --db FILE` with a database of the
measured release alone.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from string import Template

from commands import document_and_database
from tables import printed

from dbtool.core.resources import queries_folder

_TEMPLATE = Path(__file__).parent / "templates" / "cookbook.md"
# By file, in the order of the page: the question.
TITLES = {
    "summary": "What did each workload come to?",
    "scaling": "How do steps to result change with the batch size?",
    "critical_batch_size": "Up to which batch size does a larger one pay?",
    "trade_off": "What does a faster result cost?",
    "best_by_epochs": "Which metaparameters are best for a budget?",
    "optima": "Where in the search space does the best trial lie?",
    "effective_rate": "How does the best learning rate grow with the batch size?",
    "sensitivity": "How much does the learning rate matter?",
    "divergence": "Which trials diverged?",
    "trials_needed": "How many trials are enough?",
    "best_of_k": "What does the best of k trials come to?",
    "luck": "How far can steps to result be trusted?",
    "best_curves": "How do the best trials learn?",
}
MOST_ROWS = 13


def main() -> None:
    """Writes the document that is named."""
    page, database = document_and_database(__doc__.splitlines()[0])
    page.write_text(document(database), encoding="utf-8", newline="")


def document(database: Path) -> str:
    """The document, with what the queries print from a database."""
    contents = [f"- [{title}](#{name})" for name, title in TITLES.items()]
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        contents="\n".join(contents),
        analyses="\n".join(analysis(name, database) for name in TITLES),
    )


def split_comment(sql: str) -> tuple[str, str]:
    """The comment that a query begins with, as text, and the rest of it."""
    lines = sql.splitlines()
    count = next(number for number, line in enumerate(lines) if not line.startswith("--"))
    paragraphs: list[list[str]] = [[]]
    for line in lines[:count]:
        words = line.removeprefix("--").strip()
        if words:
            paragraphs[-1].append(words)
        else:
            paragraphs.append([])
    text = "\n\n".join(" ".join(lines) for lines in paragraphs)
    return text, "\n".join(lines[count:]).strip()


def analysis(name: str, database: Path) -> str:
    """One analysis of the document."""
    file = f"queries/analyses/{name}.sql"
    sql = (queries_folder() / "analyses" / f"{name}.sql").read_text(encoding="utf-8")
    about, query = split_comment(sql)
    words = ["sql", "--file", file]
    rows = printed(words, database)
    # A head and a line below it.
    if rows.count("\n") - 2 > MOST_ROWS:
        words += ["--limit", str(MOST_ROWS)]
        rows = printed(words, database)
    return (
        f'<a id="{name}"></a>\n\n## {TITLES[name]}\n\n{about}\n\n```\ndbtool {shlex.join(words)}\n'
        f"```\n\n{rows}\n<details><summary>{file}</summary>\n\n```sql\n{query}\n```\n\n</details>\n"
    )


if __name__ == "__main__":
    main()
