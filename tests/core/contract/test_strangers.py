"""Caches in other people's styles: whose arrays they take, and what is said of their faults."""

import textwrap

import pytest

from core.contract.check import check
from core.contract.plan import plan_for
from core.contract.repairs import repair_of
from core.contract.report import as_json, mechanism
from core.contract.rule import Break
from core.contract.rules import RULES
from core.contract.subject import Source

LISTS = """
    from dataclasses import dataclass, field
    import numpy as np
    import torch  # of no use here

    @dataclass
    class Cache:
        max_len: int
        ks: list = field(default_factory=list)
        vs: list = field(default_factory=list)

        def append(self, k, v):
            if k.shape != v.shape or k.ndim != 2 or len(self.ks) + len(k) > self.max_len:
                raise ValueError(k.shape)
            if self.ks and k.shape[1:] != self.ks[0].shape:
                raise ValueError(k.shape)
            self.ks += [np.array(row, np.float32) for row in k]
            self.vs += [np.array(row, np.float32) for row in v]

        def keys(self):
            return np.array(self.ks)

        def values(self):
            return np.array(self.vs)
"""
PLAIN = """
    import torch

    class Cache:
        def __init__(self, max_len, d):
            self.k, self.v, self.n = torch.zeros(max_len, d), torch.zeros(max_len, d), 0

        def append(self, k, v):
            end = self.n + len(k)
            if k.shape != v.shape or k.shape[1:] != self.k.shape[1:] or end > len(self.k):
                raise ValueError(end)
            self.k[self.n : end], self.v[self.n : end], self.n = k, v, end

        def keys(self):
            return self.k[: self.n]

        def values(self):
            return self.v[: self.n]
"""
NAMED = """
    import numpy as np

    class Cache:
        def __init__(self, *, batch_size, num_heads, max_length, head_dim):
            shape = (batch_size, max_length, num_heads, head_dim)
            self._k, self._v, self.length = np.zeros(shape), np.zeros(shape), 0

        def append(self, *, k, v):
            end = self.length + k.shape[1]
            rest = self._k[:, :0].shape
            if k.shape != v.shape or k[:, :0].shape != rest or end > self._k.shape[1]:
                raise ValueError(end)
            self._k[:, self.length : end], self._v[:, self.length : end] = k, v
            self.length = end
            return self._k[:, :end], self._v[:, :end]

        def reorder(self, index):
            self._k, self._v = self._k[index], self._v[index]
"""
TRIMMED = """
    import numpy as np

    class Cache:
        def __init__(self):
            self.keys, self.values, self.offset = None, None, 0

        def update_and_fetch(self, keys, values):
            if keys.ndim != 4 or keys.shape != values.shape:
                raise ValueError(keys.shape)
            held = [] if self.keys is None else [(self.keys, keys), (self.values, values)]
            if any(old[:, :, :0].shape != new[:, :, :0].shape for old, new in held):
                raise ValueError(keys.shape)
            joined = [np.concatenate([a[:, :, : self.offset], b], 2) for a, b in held]
            self.keys, self.values = joined or (keys.copy(), values.copy())
            self.offset += keys.shape[2]
            return self.keys, self.values

        def trim(self, n):
            n = min(self.offset, n)
            self.offset -= n
            return n
"""
LAYERS = """
    import numpy as np

    class Cache:
        def __init__(self, n_layers, capacity, n_heads, head_dim):
            self.held = [np.zeros((2, n_heads, 0, head_dim)) for _ in range(n_layers)]
            self.capacity = capacity

        def update(self, k, v, layer_idx):
            held = self.held[layer_idx]
            if k.shape != v.shape or k.ndim != 3 or k.shape[::2] != held.shape[1::2]:
                raise ValueError(k.shape)
            if held.shape[2] + k.shape[1] > self.capacity:
                raise ValueError("full")
            self.held[layer_idx] = held = np.concatenate([held, np.stack([k, v])], 2)
            return held[0], held[1]

        def crop(self, n):
            if not 0 <= n <= self.held[0].shape[2]:
                raise ValueError(n)
            self.held = [held[:, :, :n] for held in self.held]
"""
KEEPS_ROOM = """
    import numpy as np

    class Cache:
        def __init__(self, window, n_heads, d):
            self.window = window
            self.pair = np.zeros((2, n_heads, 0, d))

        def append(self, k, v):
            if k.shape != v.shape or k.ndim != 3 or k.shape[::2] != self.pair.shape[1::2]:
                raise ValueError(k.shape)
            full = np.concatenate([self.pair, np.stack([k, v])], 2)
            self.pair = full[:, :, max(0, full.shape[2] - self.window + 1) :]
            return full[0], full[1]

        def length(self):
            return self.pair.shape[2]
"""
RIGHT = {
    "lists": LISTS,
    "plain": PLAIN,
    "named": NAMED,
    "trimmed": TRIMMED,
    "layers": LAYERS,
    "keeps_room": KEEPS_ROOM,
}


@pytest.fixture
def asked(subjects, tmp_path):
    """Plan, and verdict by rule."""

    def told(text, only=()):
        path = tmp_path / "theirs.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        subject = subjects.turned_to(Source(path, "Cache"))
        plan = plan_for(subject, frozenset())
        return plan, {verdict.rule: verdict for verdict in check(subject, plan, only)}

    return told


def states(verdicts, state):
    return {rule for rule, verdict in verdicts.items() if verdict.state == state}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_class_of_another_style_breaks_no_rule(asked, name):
    _, verdicts = asked(RIGHT[name])
    assert states(verdicts, "fail") == set()
    assert states(verdicts, "skipped") == set()


@pytest.mark.parametrize(
    ("name", "library"), [("lists", "numpy"), ("plain", "torch"), ("named", "numpy")]
)
def test_whose_arrays_a_class_takes_is_told_by_what_it_does(asked, name, library):
    text = textwrap.dedent(RIGHT[name])
    text = text if "import torch" in text else f"import torch\n{text}"
    plan, _ = asked(text, (3,))
    assert plan.surface.library == library


@pytest.mark.parametrize(
    ("annotation", "library"),
    [("np.ndarray", "numpy"), ("'torch.Tensor'", "torch"), ("torch.Tensor", "torch")],
)
def test_annotations_tell_whose_arrays_a_class_takes(asked, annotation, library):
    text = f"""
    import numpy as np
    import torch

    class Cache:
        def __init__(self):
            self.rows = []

        def append(self, k: {annotation}, v: {annotation}):
            self.rows += zip(k, v)
            stack = torch.stack if isinstance(k, torch.Tensor) else np.stack
            return tuple(stack(list(rows)) for rows in zip(*self.rows))
    """
    plan, _ = asked(text, (3,))
    assert plan.surface.library == library


@pytest.mark.parametrize(
    ("name", "old", "new", "rule", "said"),
    [
        ("lists", "[np.array(row, np.float32) for row in k]", "[row for row in k]", 16,
         "the cache keeps the caller's arrays"),
        ("named", "self._k[index], self._v[index]", "self._k[index], self._v", 32,
         "reordering mixes up"),
        ("trimmed", "self.offset -= n", "self.offset -= n + 1", 29, "the next row lands in the"),
        ("layers", "[held[:, :, :n] for held in self.held]",
         "[self.held[0][:, :, :n], *self.held[1:]]", 29, "the next row lands in the wrong place"),
        ("layers", "held[0].shape[2]:", "held[0].shap[2]:", 29,
         "its code fails in a call that should be accepted: AttributeError"),
        ("named", "return self._k[:, :end], self._v[:, :end]",
         "return self._k[:, : end - 1], self._v[:, : end - 1]", 3, "rows are not read as they"),
        ("keeps_room", "- self.window + 1)", "- self.window + 2)", 23, "a window does not show"),
    ],
)  # fmt: skip
def test_a_fault_in_a_class_of_another_style_is_found(asked, name, old, new, rule, said):
    assert RIGHT[name].count(old) == 1
    _, verdicts = asked(RIGHT[name].replace(old, new), (3, 16, 22, 23, 28, 29, 32))
    assert states(verdicts, "fail") == {rule}
    assert said in mechanism(verdicts[rule])


def test_rows_that_all_caches_share_are_one_finding(asked):
    text = LISTS.replace("ks: list = field(default_factory=list)", "ks = []")
    text = text.replace("vs: list = field(default_factory=list)", "vs = []")
    _, verdicts = asked(text)
    assert states(verdicts, "fail") == {1}
    assert mechanism(verdicts[1]).startswith("caches share rows")
    assert "for each cache, not in the class" in verdicts[1].repair


def test_layers_that_are_taken_in_one_order_only_are_called_so(asked):
    lazy = (
        "if layer_idx >= len(self.held):\n                self.held.append(self.held[0][:, :, :0])"
    )
    text = LAYERS.replace("for _ in range(n_layers)]", "for _ in range(1)]")
    text = text.replace("held = self.held[layer_idx]\n", f"{lazy}\n            held = self.held[layer_idx]\n", 1)  # fmt: skip  # noqa: E501
    _, verdicts = asked(text.replace("range(1)", "range(0 * n_layers + 1)"), (20,))
    assert states(verdicts, "fail") == set()
    text = text.replace("self.held.append(self.held[0][:, :, :0])", "raise KeyError(layer_idx)")
    _, verdicts = asked(text, (20,))
    assert mechanism(verdicts[20]) == "a layer is refused until those before it have rows"


def rule_of(number):
    return next(rule for rule in RULES if rule.number == number)


def test_a_repair_speaks_of_how_the_class_holds_its_rows(asked):
    broken = Break(0, "contents", "[0]", "[1]")
    for name, said in (
        ("keeps_room", "until the ring is full, show only the rows that were written"),
        ("trimmed", "return the rows that were joined"),
        ("plain", "return the first `length` rows"),
    ):
        plan, _ = asked(RIGHT[name], (3,))
        assert repair_of(plan, rule_of(4), broken).startswith(said)


def test_a_finding_names_the_fault_that_is_like_it(asked):
    text = PLAIN.replace("return self.v[: self.n]", "return self.v").replace(
        "return self.k[: self.n]", "return self.k"
    )
    _, verdicts = asked(text, (4,))
    (finding,) = as_json(list(verdicts.values()))["findings"]
    assert finding["like"] == "mask-unwritten"
