"""A law that says nothing of a case says why, and what would do."""

from dataclasses import replace

import pytest

from core.battery.bench import Bench
from core.battery.case import read_case
from core.battery.laws import LAWS, cases_of
from core.battery.silence import Silent

BY_ID = {law.id: law for law in LAWS}
OF_REFUSE = (
    "rewind-drafts",
    "new-prompt-reuse",
    "neighbours-padding",
    "neighbours-beams",
    "eviction-refused",
)
PLAIN = "model=tiny-rope layers=1 policy=refuse"
SILENT = (
    ("chunks", "capacity=3 prompt=1,2,3", "chunk=0 reads", "capacity=3 prompt=1,2,3 chunk=1"),
    ("chunks", "capacity=2 prompt=1,2,3 chunk=1", "give capacity=3",
     "capacity=3 prompt=1,2,3 chunk=1"),
    ("one-by-one", "capacity=3 prompt=1", "2 tokens or more", "capacity=3 prompt=1,2"),
    ("rewind", "capacity=3 prompt=1 then=2,3", "give n=1 to 2", "capacity=3 prompt=1 then=2,3 n=2"),
    ("rewind", "capacity=3 prompt=1 n=1", "give then=1,2,3", "capacity=4 prompt=1 then=1,2,3 n=1"),
    ("rewind", "capacity=2 prompt=1 then=2,3 n=1", "give capacity=3",
     "capacity=3 prompt=1 then=2,3 n=1"),
    ("rewind-drafts", "capacity=9 prompt=1 then=2 other=1,2", "then= has 1 token; give 3",
     "capacity=9 prompt=1 then=2,3,4 other=1,2"),
    ("rewind-drafts", "capacity=9 prompt=1 then=2,3,4", "give other=1,2",
     "capacity=9 prompt=1 then=2,3,4 other=1,2"),
    ("rewind-drafts", "capacity=9 prompt=1 then=2,3,4 other=1,2 n=3", "n=3 of 2 drafts",
     "capacity=9 prompt=1 then=2,3,4 other=1,2 n=2"),
    ("rewind-drafts", "capacity=4 prompt=1 then=2,3,4 other=1,2", "give capacity=6",
     "capacity=6 prompt=1 then=2,3,4 other=1,2"),
    ("slots-grow", "capacity=9 prompt=1,2", "give 9 tokens and capacity=9",
     "capacity=9 prompt=1,2,3,4,5,6,7,8,9 chunk=2"),
    ("new-prompt", "capacity=9 prompt=1,2", "give other=1,2,3",
     "capacity=9 prompt=1,2 other=1,2,3"),
    ("new-prompt-reuse", "capacity=9 prompt=1,2", "give n=1", "capacity=9 prompt=1,2 n=1"),
    ("new-prompt-reuse", "capacity=9 prompt=1,2 n=3", "give at most 2",
     "capacity=9 prompt=1,2 n=2"),
    ("new-prompt-reuse", "capacity=9 prompt=1,2 n=1 chunk=1", "leave chunk= out",
     "capacity=9 prompt=1,2 n=1"),
    ("new-prompt-reuse", "capacity=2 prompt=1,2 n=2", "give capacity=3",
     "capacity=3 prompt=1,2 n=2"),
    ("neighbours-padding", "capacity=9 prompt=1,2", "give n=1", "capacity=9 prompt=1,2 n=1"),
    ("neighbours-beams", "capacity=9 prompt=1,2", "0 beams in other=; give two, as other=1,0",
     "capacity=9 prompt=1,2 other=1,0"),
    ("neighbours-beams", "capacity=9 prompt=1,2 other=1,2", "there are 0 to 1",
     "capacity=9 prompt=1,2 other=1,1"),
    ("neighbours-beams", "capacity=3 prompt=1,2 other=1,0", "give capacity=4",
     "capacity=4 prompt=1,2 other=1,0"),
    ("eviction-early", "capacity=1 prompt=1,2", "give capacity=2", "capacity=2 prompt=1,2"),
    ("eviction-refused", "capacity=3 prompt=1,2", "2 tokens and capacity=3",
     "capacity=2 prompt=1,2"),
    ("eviction-refused", "capacity=1 prompt=1", "give 2 or more", "capacity=2 prompt=1,2"),
    ("eviction-reach", "capacity=3 prompt=1,2 n=2", "give n=0 to 1", "capacity=3 prompt=1,2 n=1"),
)  # fmt: skip


@pytest.mark.parametrize(("law_id", "case", "why", "instead"), SILENT)
def test_a_law_that_says_nothing_of_a_case_says_what_would_do(law_id, case, why, instead):
    law = BY_ID[law_id]
    found = law.check(read_case(f"law={law_id} {PLAIN} {case}"), Bench())
    assert isinstance(found, Silent)
    assert why in found.why
    assert not isinstance(law.check(read_case(f"law={law_id} {PLAIN} {instead}"), Bench()), Silent)


@pytest.mark.parametrize("law_id", OF_REFUSE)
def test_a_law_of_the_policy_refuse_says_so_of_another_one(law_id):
    case = cases_of(BY_ID[law_id], ("tiny-rope",), seed=0)[0]
    found = BY_ID[law_id].check(replace(case, policy="window"), Bench())
    assert found == Silent("policy=window; give policy=refuse")


def test_16_bits_are_too_few_for_how_far_a_token_reaches():
    case = read_case(f"law=eviction-reach {PLAIN} capacity=3 prompt=1,2 n=1")
    found = BY_ID["eviction-reach"].check(case, Bench(dtype="bfloat16"))
    assert found == Silent("16 bits are too few to see a far token; give --dtype float32")
