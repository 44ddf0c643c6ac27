"""A failure is made small: fewest tokens, then layers, then slots."""

import itertools
import runpy
from dataclasses import replace

import pytest

from core.battery.bench import Bench
from core.battery.case import Case
from core.battery.checks import made_small
from core.battery.laws import LAWS
from core.battery.shrink import smallest
from core.battery.written_tests import test_file as file_of
from core.errors import SpecError
from core.spec import FaultUse

CHUNKS = next(law for law in LAWS if law.id == "chunks")
OWN_CHUNK = Bench((FaultUse("mask-own-chunk"),))
LARGE = Case(
    "chunks",
    "tiny-rope",
    layers=3,
    policy="window",
    capacity=4,
    chunk=2,
    prompt=(5, 90, 17, 33, 64),
    then=(11,),
)


def fails(case: Case) -> bool:
    return OWN_CHUNK.first_broken(CHUNKS.check(case, OWN_CHUNK)) is not None


def by_brute_force() -> tuple[int, int, int]:
    """Tokens, layers and slots of the smallest case: every beginning of the texts is tried."""
    sizes = []
    for n_prompt, n_then, layers, capacity, chunk in itertools.product(
        range(1, 6), range(2), range(1, 4), range(1, 5), (1, 2)
    ):
        case = replace(
            LARGE, prompt=LARGE.prompt[:n_prompt], then=LARGE.then[:n_then],
            layers=layers, capacity=capacity, chunk=chunk,
        )  # fmt: skip
        size = (n_prompt + n_then, layers, capacity)
        if (not sizes or size < min(sizes)) and fails(case):
            sizes.append(size)
    return min(sizes)


def test_the_smallest_case_is_the_one_that_trying_all_finds():
    small = made_small(LARGE, CHUNKS, OWN_CHUNK)
    assert small.case.size[:3] == by_brute_force() == (4, 1, 3)
    assert fails(small.case)


def test_where_everything_fails_one_token_one_layer_one_slot_are_left():
    small = smallest(LARGE, lambda case: True)
    assert (small.n_tokens, small.layers, small.capacity) == (1, 1, 1)


@pytest.mark.parametrize("needed", [2, 3, 5])
def test_as_many_tokens_are_left_as_are_needed(needed):
    small = smallest(LARGE, lambda case: len(case.prompt) >= needed and case.capacity >= 2)
    assert (len(small.prompt), small.then, small.capacity) == (needed, (), 2)


def test_tokens_and_slots_shrink_together():
    small = smallest(LARGE, lambda case: len(case.prompt) == case.capacity + 2)
    assert (len(small.prompt), small.capacity) == (3, 1)


def test_a_run_that_cannot_be_made_does_not_count_as_a_failure():
    def only_large(case: Case) -> bool:
        if case.layers < 2:
            raise SpecError("no such run")
        return True

    assert smallest(LARGE, only_large).layers == 2


def test_the_written_file_fails_with_the_fault_and_passes_without(tmp_path):
    small = made_small(LARGE, CHUNKS, OWN_CHUNK)
    text = file_of([small], ["mask-own-chunk"], "float64", [])
    broken, whole = tmp_path / "test_broken.py", tmp_path / "test_whole.py"
    broken.write_text(text, encoding="utf-8")
    whole.write_text(text.replace('("mask-own-chunk",)', "()"), encoding="utf-8")
    assert whole.read_text() != text
    with pytest.raises(AssertionError):
        runpy.run_path(str(broken))["test_chunks"]()
    runpy.run_path(str(whole))["test_chunks"]()
