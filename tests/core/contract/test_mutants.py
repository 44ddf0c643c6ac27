"""Right caches with one fault each are found, and two faults are told as two."""

import pytest

from core.contract.check import check
from core.contract.plan import plan_for
from core.contract.subject import Source
from tests.benchmarks.contract_mutants import (
    CACHES,
    CLASSES,
    PROMISED,
    Checker,
    all_mutants,
    equivalents,
    sample,
)

SAMPLE, SEED = 9, 28
"""Of a seed by which each class has three mutants, and none of them hangs until it is ended."""


@pytest.fixture
def roots_of(subjects):
    """The rules that a class breaks."""

    def found(path, name):
        subject = subjects.turned_to(Source(path, CLASSES[name]))
        verdicts = check(subject, plan_for(subject, PROMISED[name]))
        return {verdict.rule for verdict in verdicts if verdict.state == "fail"}

    return found


def changed(folder, name, *changes):
    text = (CACHES / f"{name}.py").read_text("utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "theirs.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_sample_of_mutants_is_found(tmp_path):
    wrong = [mutant for mutant in all_mutants() if mutant.id not in equivalents()]
    with Checker(tmp_path) as checker:
        outcomes = [checker.checked(mutant) for mutant in sample(wrong, SAMPLE, SEED)]
    assert [o.id for o in outcomes if o.state not in ("found", "breaks")] == []
    assert sum(o.state == "found" for o in outcomes) >= SAMPLE // 2


def test_each_mutant_is_another_class():
    mutants = all_mutants()
    assert len({mutant.id for mutant in mutants}) == len(mutants) >= 150
    assert len({mutant.text for mutant in mutants}) == len(mutants)
    assert all(mutant.change for mutant in mutants)


def test_each_mutant_that_is_called_equivalent_is_made():
    assert set(equivalents()) <= {mutant.id for mutant in all_mutants()}


@pytest.mark.parametrize("name", CLASSES)
def test_a_right_class_keeps_what_it_promises(roots_of, name):
    assert roots_of(CACHES / f"{name}.py", name) == set()


FULL = ("self.n + new > self.max_len", "self.n + new >= self.max_len")
CUT = ("        self.n = n\n", "        self.n = max(n, 1)\n")
WHOLE = ("return self.v[: self.n]", "return self.v")
RESET = ("def reset(self):\n        self.seen = 0", "def reset(self):\n        self.k[:] = 0")
ORDER = ("(token - self.sinks) % size", "token % size")
GROW = ("new[:, :, : old.shape[2]] = old", "pass")
SHARED = ("self.lengths = [min(n, length) for length in self.lengths]", "self.lengths[0] = n")


@pytest.mark.parametrize(
    ("name", "one", "other", "rules"),
    [
        ("contiguous", FULL, CUT, {9, 28}),
        ("contiguous", WHOLE, FULL, {4, 9}),
        ("contiguous", WHOLE, CUT, {4, 28}),
        ("ring", RESET, ORDER, {24, 27}),
        ("layered", GROW, SHARED, {3, 28}),
    ],
)
def test_two_faults_are_two_roots(roots_of, tmp_path, name, one, other, rules):
    alone = [roots_of(changed(tmp_path, name, fault), name) for fault in (one, other)]
    both = roots_of(changed(tmp_path, name, one, other), name)
    assert set().union(*alone) == rules
    assert both == rules


SHAPES = "k.shape[1] != self.k.shape[1] or v.shape[1] != self.v.shape[1]"


@pytest.mark.parametrize(
    ("name", "old", "new", "rule"),
    [
        ("contiguous", SHAPES, "k.shape[1] != self.k.shape[1]", 7),
        ("contiguous", SHAPES, SHAPES.replace("v.shape[1] != self.v", "v.shape[1] != self.k"), 3),
        ("contiguous", "if not 0 <= n <= self.n:", "if True:", 28),
        ("contiguous", "        self.n = n\n", "        self.n = n - 1\n", 28),
        ("ring", "return min(self.seen, self.window)", "return self.seen", 22),
        ("ring", "k.shape[0] != self.k.shape[0] or ", "", 8),
        ("layered", "self.key_cache[layer_idx].index_select(0,",
         "self.key_cache[layer_idx].index_select(3,", 32),
        ("layered", "self.value_cache = [torch.zeros(shape, dtype=dtype)",
         "self.value_cache = [torch.zeros(shape)", 35),
    ],
)  # fmt: skip
def test_what_no_rule_found_at_first_is_found(roots_of, tmp_path, name, old, new, rule):
    assert rule in roots_of(changed(tmp_path, name, (old, new)), name)


def test_rows_that_are_counted_before_they_are_refused_are_found(roots_of, tmp_path):
    check = """        if len(k) != len(v):
            raise ValueError(f"{len(k)} keys and {len(v)} values")
"""
    path = changed(tmp_path, "contiguous", (check, ""), ("+= new\n", f"+= new\n{check}"))
    assert roots_of(path, "contiguous") == {11}
