"""Which rules are broken by classes that are known, right ones and wrong ones."""

import textwrap
from pathlib import Path

import pytest

from core.contract.check import check
from core.contract.plan import plan_for
from core.contract.report import as_json, mechanism
from core.contract.subject import NotDrivableError, Source, Subject

CACHES = Path(__file__).parents[2] / "helpers" / "caches"
RIGHT = {"contiguous": "KVCache", "ring": "RingCache", "layered": "LayeredCache"}


@pytest.fixture
def verdicts_of(subjects):
    """Verdict by rule."""

    def told(path, name, declared=(), only=()):
        return verdicts_from(subjects.turned_to(Source(path, name)), declared, only)

    return told


def verdicts_from(subject, declared=(), only=()):
    plan = plan_for(subject, frozenset(declared))
    return {verdict.rule: verdict for verdict in check(subject, plan, only)}


def verdicts_alone(path, only=(), limit_s=10.0):
    """In a process of its own, for a class that may not leave it as it was."""
    with Subject(Source(path, "KVCache"), limit_s=limit_s) as subject:
        return verdicts_from(subject, only=only)


def written(folder, text, name="theirs.py"):
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def changed(folder, of, old, new):
    text = (CACHES / f"{of}.py").read_text("utf-8")
    assert text.count(old) == 1
    return written(folder, text.replace(old, new))


def test_the_interview_class_has_three_roots(verdicts_of):
    verdicts = verdicts_of(CACHES / "interview.py", "KVCache")
    roots = {rule: mechanism(v) for rule, v in verdicts.items() if v.state == "fail"}
    assert roots == {
        4: "reading shows rows that were never written",
        9: "exact fill is refused",
        11: "a refused append changes the length",
    }


def test_what_follows_names_its_root(verdicts_of):
    verdicts = verdicts_of(CACHES / "interview.py", "KVCache")
    follows = {rule: v.root for rule, v in verdicts.items() if v.state == "follows"}
    assert follows == {1: 4, 2: 4, 5: 4, 38: 4, 10: 11, 14: 9}


@pytest.mark.parametrize("file", RIGHT)
def test_a_right_class_breaks_no_rule(verdicts_of, file):
    verdicts = verdicts_of(CACHES / f"{file}.py", RIGHT[file])
    assert {v.rule for v in verdicts.values() if v.state in ("fail", "follows")} == set()
    assert sum(v.state == "pass" for v in verdicts.values()) >= 15


def test_every_rule_has_a_state(verdicts_of):
    assert set(verdicts_of(CACHES / "contiguous.py", "KVCache")) == set(range(1, 41))


def test_live_views_are_noted_and_fail_where_copies_are_promised(verdicts_of):
    path = CACHES / "contiguous.py"
    assert verdicts_of(path, "KVCache", only=(17, 18))[17].state == "note"
    promised = verdicts_of(path, "KVCache", ("copies",), only=(17, 18))
    assert {promised[17].state, promised[18].state} == {"fail"}


def test_a_class_that_joins_whatever_comes_accepts_what_does_not_belong_together(
    verdicts_of, tmp_path
):
    path = written(
        tmp_path,
        """
        import numpy as np

        class Joining:
            def __init__(self):
                self.k = self.v = None

            def update(self, k, v):
                self.k = k if self.k is None else np.concatenate([self.k, k], axis=-2)
                self.v = v if self.v is None else np.concatenate([self.v, v], axis=-2)
                return self.k, self.v
        """,
    )
    verdicts = verdicts_of(path, "Joining")
    assert {rule for rule, v in verdicts.items() if v.state == "fail"} == {7, 16}
    assert verdicts[9].state == "not_offered"


def test_the_shortest_sequence_is_told(verdicts_of):
    verdict = verdicts_of(CACHES / "interview.py", "KVCache", only=(9,))[9]
    assert verdict.case.words() == ["new, capacity 1", "append 1 row"]
    assert verdict.found.expected == "accepted"
    assert verdict.found.found == "ValueError: cache full"


@pytest.mark.parametrize(
    ("of", "old", "new", "rule"),
    [
        ("contiguous", "self.n + new > self.max_len", "self.n + new >= self.max_len", 9),
        ("contiguous", "return self.v[: self.n]", "return self.v", 4),
        ("ring", "(token - self.sinks) % size", "token % size", 24),
        ("ring", "if k.shape[1] > 1:", "if False:", 25),
        ("layered", "self.lengths[layer_idx] = end", "self.lengths[0] = end", 20),
        ("layered", "new[:, :, : old.shape[2]] = old", "pass", 3),
    ],
)
def test_a_class_with_one_fault_breaks_the_rule_of_that_fault(
    verdicts_of, tmp_path, of, old, new, rule
):
    verdicts = verdicts_of(changed(tmp_path, of, old, new), RIGHT[of])
    assert verdicts[rule].state in ("fail", "follows"), verdicts[rule]
    assert any(v.state == "fail" for v in verdicts.values())


def test_a_class_that_hangs_is_told_and_the_other_rules_are_asked(tmp_path):
    path = changed(
        tmp_path, "contiguous", "if self.n + new > self.max_len:",
        "while self.n + new > self.max_len:\n            pass\n        if False:",
    )  # fmt: skip
    verdicts = verdicts_alone(path, only=(9, 17), limit_s=1.0)
    assert "no answer within 1 s" in verdicts[9].found.found
    assert verdicts[17].state == "note"


def hanging(folder):
    return changed(
        folder, "contiguous", "if self.n + new > self.max_len:",
        "while self.n + new > self.max_len:\n            pass\n        if False:",
    )  # fmt: skip


def test_a_class_that_hangs_does_so_for_one_reason(tmp_path):
    verdicts = verdicts_alone(hanging(tmp_path), only=(9, 10, 12), limit_s=1.0)
    assert mechanism(verdicts[9]) == (
        "a call never comes back: hangs: no answer within 1 s (theirs.py, line 21, in append())"
    )
    assert {(verdicts[n].state, verdicts[n].root) for n in (10, 12)} == {("follows", 9)}


def test_a_class_that_hangs_too_often_is_asked_no_more_and_what_was_found_is_kept(tmp_path):
    with Subject(Source(hanging(tmp_path), "KVCache"), limit_s=1.0, patience_s=2.0) as subject:
        plan = plan_for(subject, frozenset())
        verdicts = {verdict.rule: verdict for verdict in check(subject, plan)}
    assert verdicts[3].state == "pass"
    assert (verdicts[9].state, verdicts[10].state, verdicts[27].state) == (
        "fail", "skipped", "skipped"
    )  # fmt: skip
    assert verdicts[10].why == "it hung or ended too often to be asked any more"
    assert set(verdicts) == set(range(1, 41))


def test_a_class_that_ends_the_interpreter_is_told(tmp_path):
    path = changed(
        tmp_path, "contiguous", "if len(k) != len(v):", "if len(k) != len(v) and stop():"
    )
    end = "\n\ndef stop():\n    import os\n\n    os._exit(9)\n"
    path.write_text(path.read_text("utf-8") + end, encoding="utf-8")
    verdicts = verdicts_alone(path, only=(7, 9))
    assert "ended with status 9" in verdicts[7].found.found
    assert verdicts[9].state == "pass"


def test_a_class_that_prints_disturbs_nothing(verdicts_of, tmp_path):
    path = changed(
        tmp_path,
        "contiguous",
        "        new = len(k)\n",
        "        new = len(k); print('x' * 100_000)\n",
    )
    assert verdicts_of(path, "KVCache", only=(3,))[3].state == "pass"


def test_a_class_that_wants_all_memory_gets_an_error(tmp_path):
    path = changed(
        tmp_path, "contiguous", "        new = len(k)\n",
        "        new = len(k); hog = np.ones(2**40, dtype=np.uint8)\n",
    )  # fmt: skip
    with pytest.raises(NotDrivableError, match="took no rows"):
        verdicts_alone(path)


def test_memory_is_limited_from_the_first_trial_on(tmp_path):
    path = changed(
        tmp_path, "contiguous", "        new = len(k)\n",
        "        new = len(k); hog = np.empty(2**32, dtype=np.uint8)\n",
    )  # fmt: skip
    with pytest.raises(NotDrivableError, match="took no rows"):
        verdicts_alone(path)


def test_the_names_of_our_own_packages_are_free_for_the_users_modules(tmp_path):
    written(tmp_path, "SIZE = 4\n", "core.py")
    text = (CACHES / "contiguous.py").read_text("utf-8")
    path = written(
        tmp_path,
        text.replace(
            "import numpy as np", "import core\nimport numpy as np\nassert core.SIZE == 4"
        ),
    )
    assert verdicts_alone(path, only=(3,))[3].state == "pass"


def test_our_own_packages_are_not_there(tmp_path):
    path = written(tmp_path, "import app\n")
    with pytest.raises(NotDrivableError, match="No module named 'app'"):
        Subject(Source(path, "KVCache"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "has no 'KVCache'; it has no class"),
        ("raise OSError('no disk')\n", "OSError: no disk"),
        ("class KVCache:\n    pass\n", "KVCache has no method that adds rows"),
        (
            "class KVCache:\n    def __init__(self, how):\n        pass\n",
            "cannot guess how of KVCache",
        ),
    ],
)
def test_a_class_that_cannot_be_driven_is_told_by_name(tmp_path, text, message):
    with pytest.raises(NotDrivableError, match=message):
        Subject(Source(written(tmp_path, text), "KVCache"))


def test_the_report_holds_the_roots_with_their_evidence(verdicts_of):
    verdicts = list(verdicts_of(CACHES / "interview.py", "KVCache").values())
    report = as_json(verdicts)
    assert [finding["rule"] for finding in report["findings"]] == [4, 9, 11]
    rule = report["rules"][8]
    assert (rule["rule"], rule["state"]) == (9, "fail")
    assert rule["sequence"] == ["new, capacity 1", "append 1 row"]
    assert rule["repair"].startswith("refuse when length + n > capacity")
