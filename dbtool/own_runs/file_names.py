"""What the names of files say, as in run-{run}-tag-{tag}.csv."""

from __future__ import annotations

import re

_PART = re.compile(r"\{([^{}]*)\}")


class FileNames:
    """A pattern of file names whose parts in braces stand for any text."""

    def __init__(self, pattern: str) -> None:
        """Takes a pattern.

        Args:
            pattern: matched with the end of a file's path, so that it may name folders too, as
                {run}/history.csv does.

        Raises:
            ValueError: it has no part, one twice, one without a name, or two without text between.
        """
        self.pattern = pattern
        texts_and_names = _PART.split(pattern)
        self._names = texts_and_names[1::2]
        texts = texts_and_names[::2]
        if not self._names:
            raise ValueError("has no part in braces, as {run}.csv has")
        if not all(name.isidentifier() for name in self._names):
            raise ValueError("has a part in braces that is no name, as {run} is")
        if len(set(self._names)) < len(self._names):
            raise ValueError("has a part in braces twice")
        if not all(texts[1:-1]):
            raise ValueError("has two parts in braces without text between them")
        if any("{" in text or "}" in text for text in texts):
            raise ValueError("has a brace that belongs to no part")
        # The last part takes no slash: it is of the file's own name.
        parts = [f"(?P<{name}>[^/]+)" for name in self._names]
        expression = re.escape(texts[0]) + "".join(
            part + re.escape(text) for part, text in zip(parts, texts[1:], strict=True)
        )
        self._expression = re.compile(f"(?:.*/)?{expression}", re.DOTALL)

    @property
    def names(self) -> list[str]:
        """The names of the parts."""
        return list(self._names)

    def parts(self, path: str) -> dict[str, str] | None:
        """What each part is in a path with forward slashes; None where the path is another."""
        found = self._expression.fullmatch(path)
        return None if found is None else found.groupdict()
