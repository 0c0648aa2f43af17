"""Files of measurements that are unusual and yet not malformed."""

from collections.abc import Callable, Mapping, Sequence

# Kind to the status of the trial that gets it. None of them moves a study's answers.
KINDS = {
    "empty": "INFEASIBLE",  # no byte
    "header_only": "INFEASIBLE",
    "inf": "INFEASIBLE",  # the last line's values
    "missing": "COMPLETE",  # no values in the first line but one, and none but the goal's in others
    "repeated": "COMPLETE",  # the last line twice
    "unsorted": "COMPLETE",  # the last three lines in descending order
    "unknown_metric": "COMPLETE",  # a column more
    "short_numbers": "COMPLETE",  # decimals without their trailing zeros, or with an exponent
}
FEWEST_LINES = {"missing": 6, "unsorted": 3, "repeated": 2}


def finish(
    texts: Sequence[bytes],
    statuses: Sequence[str],
    kinds: Mapping[int, str],
    columns: Sequence[str],
) -> list[bytes]:
    """Whole files from the lines of each trial: header, nan where training diverged, oddities."""
    header = ",".join(("step", *columns)).encode() + b"\n"
    finished = []
    for index, (text, status) in enumerate(zip(texts, statuses, strict=True)):
        lines = _diverged(text) if status == "INFEASIBLE" else text
        kind = kinds.get(index)
        finished.append(_ODD[kind](header, lines) if kind else header + lines)
    return finished


def _diverged(text: bytes) -> bytes:
    """The lines with the last one's values replaced by nan."""
    return _last_line(text, b"nan")


def _last_line(text: bytes, value: bytes) -> bytes:
    start = text.rfind(b"\n", 0, -1) + 1
    step, *cells = text[start:].rstrip(b"\n").split(b",")
    return text[:start] + b",".join([step, *(value for _ in cells)]) + b"\n"


def _missing(header: bytes, text: bytes) -> bytes:
    names = header.rstrip(b"\n").split(b",")
    lines = text.splitlines()
    for number in range(1, len(lines), 2):
        cells = lines[number].split(b",")
        for column, name in enumerate(names[1:], start=1):
            if number == 1 or not name.startswith(b"val/"):
                cells[column] = b""
        lines[number] = b",".join(cells)
    return header + b"\n".join(lines) + b"\n"


def _repeated(header: bytes, text: bytes) -> bytes:
    return header + text + text.splitlines(keepends=True)[-1]


def _unsorted(header: bytes, text: bytes) -> bytes:
    lines = text.splitlines(keepends=True)
    return header + b"".join(lines[:-3] + lines[:-4:-1])


def _unknown_metric(header: bytes, text: bytes) -> bytes:
    lines = [line + b",%d.5\n" % number for number, line in enumerate(text.splitlines())]
    return header.rstrip(b"\n") + b",val/perplexity\n" + b"".join(lines)


def _short_numbers(header: bytes, text: bytes) -> bytes:
    lines = []
    for line in text.splitlines():
        step, *cells = line.split(b",")
        short = [b"%se-06" % str(int(cell.replace(b".", b""))).encode() for cell in cells[:1]]
        rest = [cell.rstrip(b"0").rstrip(b".") for cell in cells[1:]]
        lines.append(b",".join([step, *short, *rest]) + b"\n")
    return header + b"".join(lines)


_ODD: Mapping[str, Callable[[bytes, bytes], bytes]] = {
    "empty": lambda _header, _text: b"",
    "header_only": lambda header, _text: header,
    "inf": lambda header, text: header + _last_line(text, b"inf"),
    "missing": _missing,
    "repeated": _repeated,
    "unsorted": _unsorted,
    "unknown_metric": _unknown_metric,
    "short_numbers": _short_numbers,
}
