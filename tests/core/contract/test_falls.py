"""Code that hangs, ends the interpreter or prints while it is found out how it is driven."""

import pytest

from core.contract import subject as subjects
from core.contract.check import check
from core.contract.plan import plan_for
from core.contract.report import not_driven_json
from core.contract.subject import NotDrivableError, Source, Subject

TEXT = """
import os, sys, time
import numpy as np
AT_ONCE
class Cache:
    def __init__(self, max_len, d):
        MAKING
        self.k, self.v, self.n = np.zeros((max_len, d)), np.zeros((max_len, d)), 0
    def append(self, k, v):
        APPENDING
        end = self.n + len(k)
        if k.shape != v.shape or k.shape[1:] != self.k.shape[1:] or end > len(self.k):
            raise ValueError(end)
        self.k[self.n : end], self.v[self.n : end], self.n = k, v, end
    def keys(self):
        READING
        return self.k[: self.n]
    def values(self):
        return self.v[: self.n]
    def length(self):
        COUNTING
        return self.n
    def truncate(self, n):
        TRUNCATING
        if not 0 <= n <= self.n:
            raise ValueError(n)
        self.n = n
"""
PLACES = ("AT_ONCE", "MAKING", "APPENDING", "READING", "COUNTING", "TRUNCATING")
HANG, EXIT, END = "while True: time.sleep(0.01)", "sys.exit(4)", "os._exit(4)"


@pytest.fixture
def started(tmp_path, monkeypatch):
    """A subject of the class with a line put in one place."""
    monkeypatch.setattr(subjects, "LOAD_LIMIT_S", 3.0)
    path = tmp_path / "theirs.py"

    def start(place, line):
        text = TEXT
        for one in PLACES:
            text = text.replace(one, line if one == place else "0")
        path.write_text(text, encoding="utf-8")
        return Subject(Source(path, "Cache"), limit_s=1.0)

    return start


@pytest.mark.parametrize(
    ("place", "line", "said"),
    [
        ("AT_ONCE", HANG, r"running .*theirs.py: no answer within 3 s \(theirs.py, line 4\)"),
        ("AT_ONCE", EXIT, r"it calls sys.exit\(4\) \(theirs.py, line 4\)"),
        ("AT_ONCE", END, r"running .*theirs.py: the interpreter ended with status 4"),
        ("AT_ONCE", "input()", r"it raised EOFError: .* \(theirs.py, line 4\)"),
        ("MAKING", HANG, r"making Cache: no answer within 1 s \(theirs.py, line 7, in __init__"),
        ("MAKING", EXIT, r"making one calls sys.exit\(4\) \(theirs.py, line 7, in __init__"),
        ("MAKING", END, r"making Cache: the interpreter ended with status 4"),
        ("APPENDING", HANG, r"adding rows .*: no answer within 1 s \(theirs.py, line 10, in app"),
        ("APPENDING", EXIT, r"calls sys.exit\(4\) \(theirs.py, line 10, in append"),
        ("READING", HANG, r"reading them: no answer within 1 s \(theirs.py, line 16, in keys"),
    ],
)
def test_what_hung_or_ended_is_told_with_its_line(started, place, line, said):
    with pytest.raises(NotDrivableError, match=said):
        started(place, line)


@pytest.mark.parametrize("line", [HANG, END])
@pytest.mark.parametrize("place", ["COUNTING", "TRUNCATING"])
def test_what_rows_do_not_need_is_left_to_the_rules(started, place, line):
    with started(place, line) as subject:
        verdicts = {v.rule: v for v in check(subject, plan_for(subject, frozenset()), (3, 28))}
    states = {rule: verdict.state for rule, verdict in verdicts.items()}
    assert states[28] == "fail"
    assert verdicts[28].found.expected == "an answer"
    assert states[3] == "pass"


@pytest.mark.parametrize("place", PLACES)
def test_what_is_printed_disturbs_nothing(started, place):
    with started(place, "print('x' * 100_000, file=sys.stderr); print('{}')") as subject:
        verdicts = check(subject, plan_for(subject, frozenset()), (3, 9))
    assert [verdict.state for verdict in verdicts] == ["pass", "pass"]


def test_an_import_that_takes_long_is_no_silence(tmp_path, monkeypatch):
    monkeypatch.setattr(subjects, "LOAD_LIMIT_S", 2.5)
    for n in range(4):
        (tmp_path / f"part_{n}.py").write_text("import time\ntime.sleep(1.2)\n", "utf-8")
    text = "".join(f"import part_{n}\n" for n in range(4)) + TEXT
    for place in PLACES:
        text = text.replace(place, "0")
    path = tmp_path / "theirs.py"
    path.write_text(text, encoding="utf-8")
    with Subject(Source(path, "Cache")) as subject:
        assert subject.surface.words == "append(k, v)"


def test_the_report_of_a_class_that_cannot_be_driven_names_every_rule():
    told = not_driven_json("it hangs", ())
    assert [rule["rule"] for rule in told["rules"]] == list(range(1, 41))
    assert {(rule["state"], rule["why"]) for rule in told["rules"]} == {("skipped", "it hangs")}
    assert (told["findings"], told["cannot_be_driven"]) == ([], "it hangs")
