"""Whatever a footer says, it is checked values or a reason."""

import json
import math
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbtool.core.footer import Footer, FooterError, decode_footer, encode_footer
from tests.support.made_up import curve, shard_footer

TRIALS: Any = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.1]))]
SOUND = msgspec.to_builtins(shard_footer(TRIALS))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def changed(path: tuple[str | int, ...], value: Any) -> bytes:
    """The sound footer with another value somewhere."""
    footer = msgspec.json.decode(msgspec.json.encode(SOUND))
    inner = footer
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(footer).encode()


PATHS = [
    *[(key,) for key in SOUND],
    *[("study", key) for key in SOUND["study"]],
    *[("study", "workload", key) for key in SOUND["study"]["workload"]],
    *[("trials", 0, key) for key in SOUND["trials"][0]],
]


@given(st.sampled_from(PATHS), ANYTHING)
def test_no_value_breaks_it(path, value):
    try:
        footer = decode_footer(changed(path, value))
    except FooterError:
        return
    assert decode_footer(encode_footer(footer)) == footer


@given(st.binary(max_size=40))
@example(b'{"shard_format": 2}')
@example(b'{"shard_format": 1e99}')
@example(b"[" * 100_000)
def test_no_bytes_break_it(value):
    for text in (value, encode_footer(shard_footer(TRIALS)) + b"x" + value):
        with pytest.raises(FooterError, match="its footer is out of contract"):
            decode_footer(text)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("shard_format",), 99, "its shard format is 99 and this dbtool reads"),
        (("trials",), [], "it lists no trials"),
        (("trials",), SOUND["trials"] * 2, "it lists trial 0 after trial 0"),
        (("trials", 0, "steps"), -1, "trials.0.steps is -1, and should be a whole number from 0"),
        (("study", "workload", "metric"), "loss", "metric 'loss' is none of the columns"),
        (("study", "workload", "workload"), "x" * 241, "is too long"),
        (("study", "workload", "workload"), " ", "is not a name that can be printed"),
        (("study", "workload", "model"), "\x1b[31mred", "'\\x1b[31mred' is not a name that can"),
        (("producer", "device"), "a\0b", "its footer holds a null character"),
    ],
)
def test_reasons(path, value, reason):
    with pytest.raises(FooterError) as caught:
        decode_footer(changed(path, value))
    assert reason in str(caught.value)
    assert str(caught.value).isprintable()


def replaced(footer: Footer, **workload: Any) -> Footer:
    other = msgspec.structs.replace(footer.study.workload, **workload)
    return msgspec.structs.replace(
        footer, study=msgspec.structs.replace(footer.study, workload=other)
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"goal": math.nan}, "its workload's goal nan is not a finite number"),
        ({"workload": "a\ud800b"}, "its footer holds text that is not Unicode"),
        ({"collection": ""}, 'collection is "", and should be text that is not empty'),
    ],
)
def test_what_could_not_be_read_again_is_not_written(changes, reason):
    with pytest.raises(FooterError, match=reason):
        encode_footer(replaced(shard_footer(TRIALS), **changes))


def test_no_thread_is_the_first_to_look_into_the_types():
    """Two that do so at once crash the process, one in some hundred times; so all is known."""
    program = """
import sys
from dbtool.core import footer
for kind in (footer.Footer, footer.Study, footer.Trial, footer.Workload, footer._FooterFormat):
    kind.__annotations__.clear()  # from which msgspec would learn what they hold
footer.decode_footer(sys.stdin.buffer.read())
"""
    text = encode_footer(shard_footer(TRIALS))
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, input=text, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
