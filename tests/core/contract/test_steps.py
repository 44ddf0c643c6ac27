"""A failing sequence call by call: what the class holds after each, beside what is right."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from core.contract.calls import Ask
from core.contract.check import check
from core.contract.plan import plan_for, rows_of
from core.contract.rule import Break, Case
from core.contract.steps import Held, Step, steps_of
from core.contract.subject import Source, Subject

CACHES = Path(__file__).parents[2] / "helpers" / "caches"


def broken_of(subject, rule):
    plan = plan_for(subject, frozenset())
    (verdict,) = check(subject, plan, [rule])
    return steps_of(subject, plan, verdict.case, verdict.found)


def table(steps):
    """Per call: its words, what it gave, length and right length, rows found and right."""
    return [
        (
            step.words,
            step.found,
            (step.length, step.right_length),
            [(held.keys, held.right) for held in step.held],
        )
        for step in steps
    ]


def test_the_refused_append_of_the_interview_class_moves_the_length_and_no_row(subjects):
    subject = subjects.turned_to(Source(CACHES / "interview.py", "KVCache"))
    full = "ValueError: cache full"
    assert table(broken_of(subject, 11)) == [
        ("new, capacity 2", "", (0, 0), [(("zeros", "zeros"), ())]),
        ("append 1 row", "accepted", (1, 1), [((0, "zeros"), (0,))]),
        ("length", "1", (1, 1), [((0, "zeros"), (0,))]),
        ("append 2 rows", full, (3, 1), [((0, "zeros"), (0,))]),
        ("length", "3", (3, 1), [((0, "zeros"), (0,))]),
    ]


def test_only_the_last_call_of_the_interview_class_is_the_broken_one(subjects):
    subject = subjects.turned_to(Source(CACHES / "interview.py", "KVCache"))
    steps = broken_of(subject, 9)
    assert [step.is_broken for step in steps] == [False, True]
    assert (steps[1].expected, steps[1].n_new) == ("accepted", 0)


@pytest.mark.parametrize(
    ("file", "name"),
    [("contiguous", "KVCache"), ("ring", "RingCache"), ("layered", "LayeredCache")],
)
def test_a_right_class_holds_what_is_right_after_each_call(subjects, file, name):
    subject = subjects.turned_to(Source(CACHES / f"{file}.py", name))
    plan = plan_for(subject, frozenset())
    sizes = plan.sizes(3)
    calls = [rows_of(sizes, [0, 1]), rows_of(sizes, [2])]
    if plan.policy == "window":
        calls.append(rows_of(sizes, [3, 4]))
    case = Case(sizes, (*calls, Ask("length")))
    steps = steps_of(subject, plan, case, Break(None, "contents", "nothing", "nothing"))
    assert [step.n_new for step in steps] == [0, *(len(call.k.tokens) for call in calls), 0]
    for step in steps:
        assert step.length == step.right_length
        for held in step.held:
            assert not any(held.is_off(slot) for slot in range(held.n_slots))
    assert steps[-1].held[0].right == ((2, 3, 4) if plan.policy == "window" else (0, 1, 2))


def test_reading_on_the_way_changes_nothing_since_each_call_is_played_anew(subjects, tmp_path):
    path = tmp_path / "shy.py"
    right = (CACHES / "contiguous.py").read_text("utf-8")
    shy = right.replace("    def keys(self):\n", "    def keys(self):\n        self.n_reads += 1\n")
    shy = shy.replace("        self.n = 0\n", "        self.n = self.n_reads = 0\n", 1)
    path.write_text(shy.replace("    def append(self, k, v):\n", SHY_APPEND), "utf-8")
    subject = subjects.turned_to(Source(path, "KVCache"))
    plan = plan_for(subject, frozenset())
    sizes = plan.sizes(6)
    case = Case(sizes, tuple(rows_of(sizes, [token]) for token in range(5)))
    steps = steps_of(subject, plan, case, Break(None, "contents", "nothing", "nothing"))
    assert [step.found for step in steps[1:]] == ["accepted"] * 5


SHY_APPEND = """\
    def append(self, k, v):
        if self.n_reads > 2:
            raise RuntimeError("read too often")
"""


def test_a_call_that_hangs_is_not_made_once_more(tmp_path):
    path = tmp_path / "slow.py"
    text = (CACHES / "interview.py").read_text("utf-8")
    slow = "        if self.n == 1:\n            while True:\n                pass\n"
    path.write_text(text.replace("        new = k.shape[0]\n", f"{slow}        new = k.shape[0]\n"))
    with Subject(Source(path, "KVCache"), limit_s=1.0) as subject:
        plan = plan_for(subject, frozenset(["whole_buffer"]))
        (verdict,) = check(subject, plan, [3])
        n_starts = subject.n_starts
        steps = steps_of(subject, plan, verdict.case, verdict.found)
        assert subject.n_starts <= n_starts + 1
    assert steps[-1].is_broken
    assert steps[-1].found.startswith("hangs")
    assert steps[-1].held == ()


@pytest.mark.parametrize(
    ("held", "off"),
    [
        (Held(0, (0, 1), (0, 1), (0, 1)), []),
        (Held(0, (0, "zeros"), (0, "zeros"), (0,)), [1]),
        (Held(0, (0,), (0,), (0, 1)), [1]),
        (Held(0, (0, 1), (0, 2), (0, 1)), [1]),
        (Held(0, (0, "zeros"), (0, "zeros"), (0,), is_whole=True), []),
        (Held(0, right=(0,), odd="KeyError: 0"), []),
    ],
    ids=["right", "too-many", "too-few", "values-alone", "whole-buffer", "unread"],
)
def test_a_slot_is_off_where_keys_or_values_are_other_rows_than_right(held, off):
    assert [slot for slot in range(held.n_slots) if held.is_off(slot)] == off


def test_a_step_comes_back_from_json_as_it_was():
    held = Held(1, (0, "zeros"), (0, 2), (0,))
    step = Step(
        "append 1 row", "append", "accepted", "refused", True, (held,), 1, 2, 1, "x, line 3"
    )
    assert Step.of_json(json.loads(json.dumps(asdict(step)))) == step
