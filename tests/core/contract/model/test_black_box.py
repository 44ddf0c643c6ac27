"""Models of which nothing is seen inside: what changing tokens and kept rows tell, and no more."""

from pathlib import Path

import pytest

from core.contract.model.check import check_model_of
from core.contract.model.hypotheses import HYPOTHESES, RIGHT, Probed, Query, fitting
from core.contract.model.order import NEW_FIRST, OTHER
from core.contract.model.sessions import Wish
from core.contract.model.subject import ModelSubject, Source
from tests.helpers.models.expected import OPAQUE_FAULTS, OPAQUE_RIGHT

OPAQUE = Path(__file__).parents[3] / "helpers" / "models" / "opaque.py"


@pytest.fixture(scope="module")
def findings_of():
    """The findings of a model, by its name in the file."""
    with ModelSubject(Source(OPAQUE, "Opaque")) as subject:

        def told(name):
            subject.turn_to(Source(OPAQUE, name))
            return check_model_of(subject, Wish(n_steps=4)).findings

        yield told


@pytest.mark.parametrize("name", OPAQUE_RIGHT)
def test_a_right_model_has_no_finding(findings_of, name):
    assert findings_of(name) == ()


@pytest.mark.parametrize("name", OPAQUE_FAULTS)
def test_a_fault_is_named_from_outside_as_far_as_it_shows_there(findings_of, name):
    found = findings_of(name)
    assert [one.preset_like or one.mechanism for one in found] == OPAQUE_FAULTS[name]
    assert {one.basis for one in found} == {"black box"}
    assert all(words.startswith("black box: ") for one in found for words in one.evidence)


def test_positions_are_told_by_the_rows_that_are_given_back(findings_of):
    (found,) = findings_of("RestartsRope")
    assert "by the rows that it kept of its tokens are [0], must be [5]" in found.evidence[0]


def test_positions_are_told_by_one_token_over_and_over_where_no_row_is_seen(findings_of):
    (found,) = findings_of("SealedRestarts")
    assert "with a cache they are those of the first place in every call" in found.evidence[0]


def test_the_order_of_rows_is_told_by_those_that_are_given_back(findings_of):
    (found,) = findings_of("Reversed")
    assert any("those of tokens [6, 5, 0, 1, 2, 3, 4], in this order" in w for w in found.evidence)


def test_several_rules_that_fit_are_all_told_and_none_is_chosen(findings_of):
    (found,) = findings_of("SealedReversed")
    assert found.preset_like is None
    assert any("3 give all of this: as if a call with a cache had no mask" in w
               for w in found.evidence)  # fmt: skip


def probed(chunks, seen):
    """A call as a model of one layer shows it: `seen` has the tokens that each query sees."""
    end = sum(chunks)
    queries = []
    for token, shown in enumerate(seen, end - len(seen)):
        others = set(range(end)) - {token}
        moved = frozenset(set(shown) & others)
        queries.append(Query(token, frozenset(range(token)), moved, frozenset(others) - moved))
    return Probed(chunks, tuple(queries))


TABLE = [
    ("right", [{0, 1, 2, 3}, {0, 1, 2, 3, 4}], []),
    ("row of the call", [{0}, {0, 1}], ["mask-top-left"]),
    ("no mask", [{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}], ["mask-off-with-cache", NEW_FIRST, OTHER]),
    ("in front", [{3, 4, 0, 1}, {0, 1, 2, 3, 4}], [NEW_FIRST, OTHER]),
    ("own block", [{3}, {3, 4}], []),
]


@pytest.mark.parametrize(("seen", "names"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_rules_fit_what_they_give_by_hand(seen, names):
    call = probed((3, 2), seen)
    assert [one.preset or one.mechanism for one in fitting([call], [])] == names


def test_kept_rows_tell_two_orders_apart():
    call = probed((3, 2), [{3, 4, 0, 1}, {0, 1, 2, 3, 4}])
    told = [one.mechanism for one in fitting([call], [((3, 2), (4, 3, 0, 1, 2))])]
    assert told == [OTHER]


def test_the_orders_of_all_rules_have_each_token_once():
    for one in (RIGHT, *HYPOTHESES):
        assert sorted(one.order((2, 3, 1))) == list(range(6))
