"""docs/tour.py: what a page's commands print stands in it, and what they do not is found."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "docs" / "tour.py"
PAGE = """# A page

```console
$ echo "one
> two" | tee kept
old
$ echo told >&2
```

Words.

```python
print(open("kept").read().count("o"))
```

```text
```

```
$ echo left alone
```
"""
TAKEN = PAGE.replace("old\n$ echo told", "one\ntwo\n$ echo told").replace(
    "```text\n", "```text\n2\n"
)


def take(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(page), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_printed_is_written_and_found_again(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    checked = take(page, "--check")
    assert checked.returncode == 1
    assert "is not what its commands print" in checked.stderr
    assert "-old\n+one\n+two" in checked.stderr
    assert page.read_text() == PAGE
    assert take(page).returncode == 0
    assert page.read_text() == TAKEN
    assert take(page, "--check").returncode == 0


def test_a_command_that_fails_ends_the_tour(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo why >&2; exit 3\n```\n")
    ended = take(page)
    assert ended.returncode == 1
    assert ended.stderr == "echo why >&2; exit 3\nfailed:\nwhy\n\n"
