"""Classes whose constructor is told no capacity, and which have one."""

import pytest

from core.contract.plan import MOST_OWN, plan_for
from core.contract.subject import Source, Subject
from core.contract.whole_check import class_check, plan_words

HEAD = """\
import numpy as np


class Cache:
    def __init__(self):
        self.k, self.v, self.n = np.zeros(({n}, 4), np.float32), np.zeros(({n}, 4), np.float32), 0

    def keys(self):
        return self.k[: self.n].copy()

    def values(self):
        return self.v[: self.n].copy()

    def append(self, k, v):
        k, v = np.atleast_2d(k), np.atleast_2d(v)
        if k.shape != v.shape or k.shape[1] != 4:
            raise ValueError("shapes")
"""
REFUSES = """\
        if self.n + len(k) > {n}:
            raise ValueError("cache full")
        self.k[self.n : self.n + len(k)], self.v[self.n : self.n + len(k)] = k, v
        self.n += len(k)
"""
LETS_GO = """\
        k, v = np.concatenate([self.keys(), k])[-{n}:], np.concatenate([self.values(), v])[-{n}:]
        self.n = len(k)
        self.k[: self.n], self.v[: self.n] = k, v
"""


@pytest.fixture
def written(tmp_path):
    def write(body: str, n: int) -> Source:
        path = tmp_path / "cache.py"
        path.write_text((HEAD + body).replace("{n}", str(n)), encoding="utf-8")
        return Source(path, "Cache")

    return write


@pytest.mark.parametrize(
    ("body", "n", "policy"),
    [
        (REFUSES, 2, "refuse"),
        (REFUSES, 8, "refuse"),
        (LETS_GO, 8, "window"),
        (LETS_GO, 3, "window"),
    ],
)
def test_a_capacity_of_its_own_is_found_and_a_right_class_is_called_right(written, body, n, policy):
    with Subject(written(body, n)) as subject:
        found = class_check(subject, plan_for(subject, frozenset()))
    assert (found.plan.policy, found.plan.own_capacity) == (policy, n)
    assert [verdict.rule for verdict in found.verdicts if verdict.state == "fail"] == []
    assert found.decoded is not None
    assert (found.decoded.finding, len(found.decoded.models)) == (None, 3)
    assert plan_words("Cache", found.plan).endswith(f"({n} rows, found by trying)")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("[-{n}:], np", "[:{n}], np"), ("[-{n}:]\n", "[:{n}]\n")],
    ids=["keys", "values"],
)
def test_a_window_of_its_own_that_keeps_other_rows_is_found(written, right, wrong):
    with Subject(written(LETS_GO.replace(right, wrong), 8)) as subject:
        found = class_check(subject, plan_for(subject, frozenset()))
    is_decoded_wrong = found.decoded is not None and found.decoded.finding is not None
    assert is_decoded_wrong or any(verdict.state == "fail" for verdict in found.verdicts)


def test_rows_that_are_dropped_without_a_word_are_found(written):
    keeps_old = REFUSES.replace('raise ValueError("cache full")', "return")
    with Subject(written(keeps_old, 8)) as subject:
        found = class_check(subject, plan_for(subject, frozenset()), (2,))
    assert found.plan.has_no_known_end
    assert [verdict.state for verdict in found.verdicts] == ["fail"]


def test_of_a_capacity_that_was_tried_no_more_is_said_than_that(written):
    with Subject(written(REFUSES.replace("> {n}", ">= {n}"), 8)) as subject:
        found = class_check(subject, plan_for(subject, frozenset()))
    told = {verdict.rule: verdict for verdict in found.verdicts}
    assert found.plan.own_capacity == 7
    assert told[9].state == "not_offered"


def test_a_class_that_takes_all_that_is_tried_has_no_end_that_is_known(written):
    with Subject(written(REFUSES, MOST_OWN)) as subject:
        plan = plan_for(subject, frozenset())
    assert (plan.policy, plan.own_capacity) == ("unbounded", None)
    assert plan_words("Cache", plan).endswith(f"it took {MOST_OWN} rows, and no end was met")
