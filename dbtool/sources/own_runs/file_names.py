"""What the names of files say of the runs in them."""

from __future__ import annotations

import re

# Ends the name of a part of a path that may be of several folders.
_SLASHES = ":path"


def file_name_pattern(text: str) -> re.Pattern[str]:
    """The pattern of paths with forward slashes whose parts in braces stand for any text.

    Args:
        text: matched with the end of a path, so that it may name folders too; {name:path} takes
            slashes.

    Raises:
        ValueError: it has no part, one twice, one without a name, two without text between, or a
            first one that takes slashes and has no text before it.

    Example:
        >>> file_name_pattern("{run}/lr-{rate}.csv").fullmatch("logs/a/lr-0.1.csv").groupdict()
        {'run': 'a', 'rate': '0.1'}
    """
    texts_and_names = re.split(r"\{([^{}]*)\}", text)
    texts, names = texts_and_names[::2], texts_and_names[1::2]
    if not names:
        raise ValueError("has no part in braces, as {run}.csv has")
    if not all(texts[1:-1]):
        raise ValueError("has two parts in braces without text between them")
    if any("{" in each or "}" in each for each in texts):
        raise ValueError("has a brace that belongs to no part")
    if names[0].endswith(_SLASHES) and not texts[0]:
        raise ValueError("begins with a part that takes slashes: put a folder's name before it")
    parts = (
        f"(?P<{name.removesuffix(_SLASHES)}>{'.+' if name.endswith(_SLASHES) else '[^/]+'})"
        f"{re.escape(end)}"
        for name, end in zip(names, texts[1:], strict=True)
    )
    try:
        return re.compile(f"(?:.*/)?{re.escape(texts[0])}{''.join(parts)}", re.DOTALL)
    except re.error as error:
        raise ValueError(f"has a part in braces without a name of its own ({error.msg})") from error
