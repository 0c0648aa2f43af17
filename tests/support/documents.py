"""The blocks of code that documents show."""

import re
from dataclasses import dataclass

from tests.support.programs import CHECKOUT

DOCUMENTS = {
    path.name: path for path in (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))
}
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of code: its language, which may be blank, its text, and the heading above it."""

    language: str
    text: str
    heading: str


def blocks(document: str, *languages: str) -> list[Block]:
    """The blocks of a document, of some languages or of all."""
    return blocks_of(DOCUMENTS[document].read_text(encoding="utf-8"), *languages)


def blocks_of(text: str, *languages: str) -> list[Block]:
    """The blocks of a text in Markdown."""
    found = []
    for match in _BLOCK.finditer(text):
        headings = re.findall(r"^#+ (.*)$", _BLOCK.sub("", text[: match.start()]), re.MULTILINE)
        found.append(Block(match[1], match[2], headings[-1] if headings else ""))
    return [block for block in found if not languages or block.language in languages]
