"""Whatever a footer says, it is checked values or a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_up import curve, shard_metadata

from dbtool.store.contract import METADATA_KEYS, STUDY_KEY, TRIALS_KEY
from dbtool.store.metadata import MetadataError, parse_metadata

SOUND = shard_metadata([(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.1]))])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def footer(metadata: dict[str, Any]) -> dict[bytes, bytes]:
    return {key.encode(): json.dumps(value).encode() for key, value in metadata.items()}


def test_what_is_in_contract_reads_back() -> None:
    study, trials, producer = parse_metadata(footer(SOUND))
    assert study == SOUND[STUDY_KEY]
    assert list(trials) == SOUND[TRIALS_KEY]
    assert producer["platform"] == "cpu"


@given(st.sampled_from(METADATA_KEYS), st.binary(max_size=40))
def test_no_bytes_break_it(key: str, value: bytes) -> None:
    with pytest.raises(MetadataError):
        parse_metadata(footer(SOUND) | {key.encode(): b"x" + value})


@given(st.sampled_from(METADATA_KEYS), ANYTHING)
def test_no_value_of_a_key_breaks_it(key: str, value: Any) -> None:
    _parse_or_refuse(SOUND | {key: value})


@given(st.sampled_from(sorted(SOUND[STUDY_KEY])), ANYTHING)
def test_no_value_of_a_study_breaks_it(name: str, value: Any) -> None:
    _parse_or_refuse(SOUND | {STUDY_KEY: SOUND[STUDY_KEY] | {name: value}})


@given(st.sampled_from(sorted(SOUND[STUDY_KEY]["workload"])), ANYTHING)
def test_no_value_of_a_definition_breaks_it(name: str, value: Any) -> None:
    definition = SOUND[STUDY_KEY]["workload"] | {name: value}
    _parse_or_refuse(SOUND | {STUDY_KEY: SOUND[STUDY_KEY] | {"workload": definition}})


@given(st.sampled_from(sorted(SOUND[TRIALS_KEY][0])), ANYTHING)
def test_no_value_of_a_trial_breaks_it(name: str, value: Any) -> None:
    _parse_or_refuse(SOUND | {TRIALS_KEY: [SOUND[TRIALS_KEY][0] | {name: value}]})


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        (STUDY_KEY, '{"seed": 1e999}', "not JSON"),
        (STUDY_KEY, '{"seed": NaN}', "not JSON"),
        (STUDY_KEY, '{"release": "\\ud800"}', "not JSON"),
        (STUDY_KEY, '{"release": "a\\u0000b"}', "null character"),
        (STUDY_KEY, "[" * 100_000, "not JSON"),
        (TRIALS_KEY, "[]", "at least one"),
        (TRIALS_KEY, "[1]", "not an object"),
        (
            TRIALS_KEY,
            json.dumps(SOUND[TRIALS_KEY] * 2),
            "trial 0 is listed twice",
        ),
        (
            TRIALS_KEY,
            json.dumps([SOUND[TRIALS_KEY][0] | {"metaparameters": {"momentum": "high"}}]),
            "momentum is not a number",
        ),
        (TRIALS_KEY, json.dumps([SOUND[TRIALS_KEY][0] | {"trial_id": True}]), "trial_id"),
        (TRIALS_KEY, json.dumps([SOUND[TRIALS_KEY][0] | {"trial_id": 2**31}]), "out of range"),
    ],
)
def test_reasons(key: str, text: str, reason: str) -> None:
    with pytest.raises(MetadataError, match=reason):
        parse_metadata(footer(SOUND) | {key.encode(): text.encode()})


@pytest.mark.parametrize("key", METADATA_KEYS)
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(MetadataError, match=f"no {key}"):
        parse_metadata(footer({name: SOUND[name] for name in METADATA_KEYS if name != key}))


def _parse_or_refuse(metadata: dict[str, Any]) -> None:
    try:
        study, trials, producer = parse_metadata(footer(metadata))
    except MetadataError:
        return
    json.dumps([study, trials, producer], allow_nan=False, ensure_ascii=False).encode()
