"""Faults that are said to leave the same records do so, and others do not."""

from dataclasses import replace

import pytest

from core.faults.catalog import FAULTS
from core.faults.classes import CLASSES, Alike, are_alike
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Probe, Rollback, RunSpec
from tests.helpers.diagnosis_cases import diagnosed, loaded_model
from tests.helpers.runs import run, spec_for

THREE = (84, 104, 101)


def asked(*requests: object, capacity: int = 12) -> RunSpec:
    return spec_for(
        "learned", prompt_ids=THREE, capacity=capacity, requests=(Prefill(THREE), *requests)
    )


EXAMPLES: dict[tuple[str, ...], RunSpec] = {
    ("pos-restart", "pos-memo"): spec_for("learned", prompt_ids=(84,), steps=3),
    ("pos-wrong-axis", "pos-hole"): spec_for("learned", prompt_ids=THREE, steps=1),
    ("pos-wrong-axis", "pos-retained-rows"): spec_for(
        "learned", prompt_ids=(*THREE, 32), steps=3, capacity=4, policy="window"
    ),
    ("pos-layer-counter", "pos-layer-prefill"): spec_for("rope", prompt_ids=(84,), steps=3),
    ("rope-on-read", "rope-write-back"): spec_for("rope", prompt_ids=THREE, steps=1),
    ("mask-own-block", "mask-own-chunk"): spec_for(
        "learned", prompt_ids=THREE * 2, chunk=3, steps=0
    ),
    ("cap-late", "cap-one-row-test"): asked(Decode(), Probe(2, 2), Decode(), capacity=5),
    ("spec-no-rollback", "spec-short"): asked(Decode(), Decode(), Rollback(1), Decode()),
}
"""A run in which the faults of a class cannot be told apart."""


def digests(spec: RunSpec, fault_id: str) -> list[str]:
    faulty = replace(spec, faults=(FaultUse(fault_id),))
    return run(faulty, loaded_model(spec.model)).digests()


@pytest.mark.parametrize("ids", EXAMPLES, ids=" ".join)
def test_faults_of_a_class_leave_the_same_records(ids: tuple[str, ...]) -> None:
    spec = EXAMPLES[ids]
    assert digests(spec, ids[0]) == digests(spec, ids[1])
    clean = run(spec, loaded_model(spec.model)).digests()
    assert digests(spec, ids[0]) != clean


@pytest.mark.parametrize("ids", EXAMPLES, ids=" ".join)
def test_naming_one_of_a_class_is_naming_all(ids: tuple[str, ...]) -> None:
    outcomes = {diagnosed(EXAMPLES[ids], each).outcome for each in ids}
    assert outcomes <= {"first", "class"}
    assert are_alike(*ids)


def test_every_class_has_an_example_and_names_faults_of_the_catalog() -> None:
    known = {fault.id for fault in FAULTS}
    for each in CLASSES:
        assert set(each.ids) <= known
        assert each.ids in EXAMPLES


@pytest.mark.parametrize("fault_id", ["prefix-last-twice", "spec-short", "spec-no-rollback"])
def test_what_is_kept_of_a_known_prompt_is_told_apart_by_the_rows_that_are_nobodys(
    fault_id: str,
) -> None:
    again = NewPrompt(THREE, reuse_prefix=True)
    for spec in (asked(Decode(), again, Decode()), asked(Decode(), Decode(), again)):
        assert diagnosed(spec, fault_id).outcome == "first"


def test_other_faults_are_not_alike() -> None:
    assert not are_alike("pos-restart", "mask-top-left")
    assert Alike(("pos-restart", "mask-top-left"), "") not in CLASSES
