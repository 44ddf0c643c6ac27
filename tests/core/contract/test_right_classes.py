"""Right classes of other people's making, and what is told of them instead of a finding."""

import textwrap

import pytest

from core.contract.check import check
from core.contract.decode import is_worth_asking, model_test
from core.contract.plan import plan_for
from core.contract.report import mechanism
from core.contract.subject import Source

WINDOW = """
    import torch

    class Window:
        def __init__(self, num_layers, window):
            self.window = window
            self.k, self.v = [None] * num_layers, [None] * num_layers
            self.seen = [0] * num_layers

        def update(self, k, v, layer_idx):
            if k.shape[:3] != v.shape[:3]:
                raise ValueError("k and v")
            old_k, old_v = self.k[layer_idx], self.v[layer_idx]
            if old_k is None:
                old_k, old_v = k[:, :, :0], v[:, :, :0]
            for old, new in ((old_k, k), (old_v, v)):
                if old.shape[:2] != new.shape[:2] or old.shape[3:] != new.shape[3:]:
                    raise ValueError("shape")
            keys, values = torch.cat([old_k, k], 2), torch.cat([old_v, v], 2)
            left = max(0, keys.shape[2] - self.window + 1)
            self.k[layer_idx], self.v[layer_idx] = keys[:, :, left:], values[:, :, left:]
            self.seen[layer_idx] += k.shape[2]
            return keys, values

        def get_seq_length(self, layer_idx=0):
            return self.seen[layer_idx]
"""
ONE_SEQUENCE = """
    import torch

    class One:
        def __init__(self, max_len, n_heads, head_dim):
            self.k = torch.zeros(1, n_heads, max_len, head_dim)
            self.v = torch.zeros(1, n_heads, max_len, head_dim)
            self.n = 0

        def append(self, k, v):
            n = k.shape[2]
            room = self.k[:, :, self.n : self.n + n]
            if k.shape != v.shape or k.shape != room.shape:
                raise ValueError("shape")
            room[:] = k
            self.v[:, :, self.n : self.n + n] = v
            self.n += n

        def keys(self):
            return self.k[:, :, : self.n]

        def values(self):
            return self.v[:, :, : self.n]
"""
PLACED = """
    import torch

    class Placed:
        def __init__(self, max_batch_size, max_seq_length, n_heads, head_dim):
            shape = (max_batch_size, n_heads, max_seq_length, head_dim)
            self.k_cache, self.v_cache = torch.zeros(shape), torch.zeros(shape)

        def update(self, input_pos, k_val, v_val):
            assert len(input_pos) == k_val.shape[2]
            self.k_cache[:, :, input_pos] = k_val
            self.v_cache[:, :, input_pos] = v_val
            return self.k_cache, self.v_cache
"""
JOINING = """
    import torch

    class Joining:
        def __init__(self, num_layers):
            self.k, self.v = [None] * num_layers, [None] * num_layers

        def update(self, k, v, layer_idx):
            old_k, old_v = self.k[layer_idx], self.v[layer_idx]
            self.k[layer_idx] = k.clone() if old_k is None else torch.cat([old_k, k], dim=2)
            self.v[layer_idx] = v.clone() if old_v is None else torch.cat([old_v, v], dim=2)
            return self.k[layer_idx], self.v[layer_idx]

        def get_seq_length(self, layer_idx=0):
            return 0 if self.k[layer_idx] is None else self.k[layer_idx].shape[2]
"""
RING = """
    import numpy as np

    class Ring:
        def __init__(self, window, d_k, d_v):
            self.window, self.seen = window, 0
            self.k, self.v = np.zeros((window, d_k)), np.zeros((window, d_v))

        def append(self, k, v):
            if len(k) != len(v) or (k.ndim, v.ndim) != (2, 2):
                raise ValueError("rows")
            if (k.shape[1], v.shape[1]) != (self.k.shape[1], self.v.shape[1]):
                raise ValueError("sizes")
            for row in range(len(k)):
                self.k[self.seen % self.window] = k[row]
                self.v[self.seen % self.window] = v[row]
                self.seen += 1

        def order(self):
            held = range(max(0, self.seen - self.window), self.seen)
            return [token % self.window for token in held]

        def keys(self):
            return self.k[self.order()]

        def values(self):
            return self.v[self.order()]
"""
TYPO = """
    import numpy as np

    class Typo:
        def __init__(self, capacity, d_k, d_v):
            self.k, self.v, self.n = np.zeros((capacity, d_k)), np.zeros((capacity, d_v)), 0

        def append(self, k, v):
            end = self.n + len(k)
            if end > len(self.k):
                raise ValueErorr("full")
            if len(k) != len(v):
                raise ValueError("rows")
            self.k[self.n : end], self.v[self.n : end], self.n = k, v, end

        def keys(self):
            return self.k[: self.n]

        def values(self):
            return self.v[: self.n]
"""


@pytest.fixture
def asked(subjects, tmp_path):
    """Subject, plan, and verdict by rule."""

    def told(text, name, only=()):
        path = tmp_path / "theirs.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        subject = subjects.turned_to(Source(path, name))
        plan = plan_for(subject, frozenset())
        return subject, plan, {verdict.rule: verdict for verdict in check(subject, plan, only)}

    return told


def failing(verdicts):
    return {rule for rule, v in verdicts.items() if v.state in ("fail", "follows")}


@pytest.mark.parametrize("name", ["seen", "count", "total"])
def test_a_count_for_each_layer_is_read_of_the_layer(asked, name):
    _, plan, verdicts = asked(WINDOW.replace("self.seen", f"self.{name}"), "Window")
    assert failing(verdicts) == set()
    assert plan.offers("seen") == (name != "count")


@pytest.mark.parametrize("start", ["None", "'0'", "0.5", "[]", "{}", "[None] * num_layers"])
def test_what_is_no_whole_number_is_not_taken_for_a_count(asked, start):
    text = WINDOW.replace("self.window = window", f"self.window, self.total = window, {start}")
    text = text.replace("self.seen", "self.told")
    _, plan, _ = asked(text, "Window", (22,))
    assert not plan.offers("seen")


def test_a_method_of_the_class_is_preferred_to_an_attribute(asked):
    text = JOINING.replace("self.k, self.v =", "self.count = self.pos = 3; self.k, self.v =")
    _, plan, verdicts = asked(text, "Joining", (1, 2))
    assert plan.surface.spelling["length"] == "cache.get_seq_length({layer})"
    assert failing(verdicts) == set()


def test_a_class_of_one_sequence_is_asked_with_one(asked):
    _, _, verdicts = asked(ONE_SEQUENCE, "One")
    assert failing(verdicts) == set()
    assert (verdicts[7].state, verdicts[8].state, verdicts[11].state) == ("pass", "pass", "pass")
    assert verdicts[33].state == "not_offered"
    assert verdicts[33].why == "it takes one sequence; two are refused: ValueError: shape"


def test_rows_of_a_device_without_memory_are_a_note_at_most(asked):
    _, _, verdicts = asked(PLACED, "Placed")
    assert failing(verdicts) == set()
    assert verdicts[36].state == "note"


def test_models_decode_with_a_class_that_only_lacks_checks_of_its_arguments(asked):
    subject, plan, verdicts = asked(JOINING, "Joining")
    assert failing(verdicts) == {7, 11}
    assert is_worth_asking(list(verdicts.values()))
    assert model_test(subject, plan).finding is None


def test_models_do_not_decode_where_a_refused_block_changes_the_length(asked):
    text = TYPO.replace("raise ValueErorr", "self.n += 1; raise ValueError")
    _, _, verdicts = asked(text, "Typo", (11,))
    assert failing(verdicts) == {11}
    assert not is_worth_asking(list(verdicts.values()))


def test_of_a_ring_that_gives_nothing_back_no_block_is_asked(asked):
    subject, plan, verdicts = asked(RING, "Ring")
    assert failing(verdicts) == set()
    assert (verdicts[25].state, verdicts[25].why.split(":")[0]) == (
        "not_offered", "adding rows gives nothing back",
    )  # fmt: skip
    decoded = model_test(subject, plan)
    assert decoded.finding is None
    assert decoded.not_covered[0].endswith("so single tokens were fed")


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ('raise ValueErorr("full")', "NameError: name 'ValueErorr' is not defined"),
        ("self.ful()", "AttributeError: 'Typo' object has no attribute 'ful'"),
        ("[].pop()", "IndexError: pop from empty list"),
        ('raise ValueError("full at " + self.n)', "TypeError: can only concatenate str"),
    ],
)
def test_code_that_fails_where_it_should_refuse_is_found_once_with_its_line(asked, new, said):
    text = TYPO.replace('raise ValueErorr("full")', new)
    _, _, verdicts = asked(text, "Typo", (9, 10, 12))
    assert [verdicts[n].state for n in (9, 10, 12)] == ["fail", "follows", "follows"]
    told = mechanism(verdicts[9])
    assert told.startswith(f"where it should refuse, its code fails: {said}")
    assert told.endswith("(theirs.py, line 11, in append())")


@pytest.mark.parametrize("error", ["IndexError", "TypeError", "KeyError", "Full"])
def test_an_error_that_somebody_raises_is_a_refusal_whatever_its_kind(asked, error):
    text = f"class Full(Exception):\n    pass\n{textwrap.dedent(TYPO)}"
    _, _, verdicts = asked(text.replace("ValueErorr", error), "Typo", (9, 10, 12))
    assert failing(verdicts) == set()


def test_each_rule_is_announced_once(asked):
    subject, plan, _ = asked(TYPO, "Typo", (3,))
    announced = []
    check(subject, plan, (7, 8, 28, 35), at=announced.append)
    assert announced == [7, 8, 28, 35]


def test_a_refusal_of_rows_that_fit_is_called_one(asked):
    text = TYPO.replace("if len(k) != len(v):", "if len(self.k) == 8:")
    _, _, verdicts = asked(text, "Typo", (8,))
    assert mechanism(verdicts[8]) == "rows that fit are refused"
