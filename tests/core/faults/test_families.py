"""Under which heading a fault is listed."""

import pytest

from core.faults.catalog import FAULTS
from core.faults.families import FAMOUS, OTHERS, family_of

BY_ID = {fault.id: fault for fault in FAULTS}


@pytest.mark.parametrize("fault_id", BY_ID)
def test_every_fault_belongs_to_a_family(fault_id: str) -> None:
    assert family_of(fault_id) != OTHERS


def test_an_unknown_kind_is_listed_with_the_others() -> None:
    assert family_of("something-new") == OTHERS


def test_the_faults_to_begin_with_are_all_among_those_met_most_often() -> None:
    assert {BY_ID[fault_id].tier for fault_id in FAMOUS} == {"A"}
