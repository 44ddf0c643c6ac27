"""Small models decode with what a class gives back, and with nothing else."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from core.contract.check import check
from core.contract.decode import model_test
from core.contract.numbers import rounded
from core.contract.plan import plan_for
from core.contract.report import as_json
from core.contract.run_of_calls import run_of_finding
from core.contract.subject import Source

CACHES = Path(__file__).parents[2] / "helpers" / "caches"
RIGHT = {"contiguous": "KVCache", "ring": "RingCache", "layered": "LayeredCache",
         "positions": "PositionsCache"}  # fmt: skip


@pytest.fixture
def decoded(subjects):
    """What the model test finds."""

    def found(path, name):
        subject = subjects.turned_to(Source(path, name))
        return model_test(subject, plan_for(subject, frozenset()))

    return found


def changed(folder, of, old, new):
    text = (CACHES / f"{of}.py").read_text("utf-8")
    assert text.count(old) == 1
    path = folder / "theirs.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize("file", RIGHT)
def test_with_a_right_class_models_decode_as_without_a_cache(decoded, file):
    found = decoded(CACHES / f"{file}.py", RIGHT[file])
    assert found.finding is None
    assert found.models == ("tiny-learned", "tiny-rope", "tiny-alibi")
    has_batch = file in ("layered", "positions")
    also = ("rows of float16",)
    if has_batch:
        also += ("rows of bfloat16", "two texts of 10 and 8 tokens in one batch")
    assert (found.not_covered, found.also) == ((), also)


def test_numbers_that_are_rounded_break_no_rule_and_are_found_where_a_model_decodes(
    subjects, tmp_path
):
    path = changed(tmp_path, "contiguous", "self.k[self.n : self.n + new] = k",
                   "self.k[self.n : self.n + new] = np.round(k)")  # fmt: skip
    subject = subjects.turned_to(Source(path, "KVCache"))
    plan = plan_for(subject, frozenset())
    verdicts = check(subject, plan)
    decoded = model_test(subject, plan)
    found = decoded.finding
    assert not any(verdict.state == "fail" for verdict in verdicts)
    assert (found.model, found.layer) == ("tiny-learned", 0)
    assert (
        "layer 0, keys (inferred): rows of tokens ?, ? come back where 0, 1 belong" in found.found
    )
    finding = as_json(verdicts, decoded)["findings"][0]
    assert finding["rule"] is None
    assert finding["where"]["step"] == found.step


@pytest.mark.parametrize(
    ("of", "old", "new", "said"),
    [
        ("contiguous", "return self.v[: self.n]", "return self.v[: self.n][::-1]",
         "layer 0, values (inferred): rows of tokens 1, 0 come back where 0, 1 belong"),
        ("contiguous", "self.k[self.n : self.n + new] = k", "self.k[: new] = k",
         "layer 0, keys (inferred): rows of tokens 1, ? come back where 0, 1 belong"),
        ("ring", "recent = range(self.seen - (self.window - self.sinks), self.seen)",
         "recent = range(self.seen - (self.window - self.sinks) + 1, self.seen)",
         "layer 0, keys (inferred): rows of tokens 1 are missing"),
        ("ring", "(token - self.sinks) % size", "token % size",
         "rows of tokens 0, 1, 3, 5, 5 come back where 0, 1, 3, 4, 5 belong"),
        ("layered", "self.lengths[layer_idx] = end", "self.lengths[0] = end",
         "[1, 4, 0, 8] and [1, 4, 0, 8] came back as keys and values after 1 were added"),
        ("positions", "[:, :, input_pos] = v", "[:, :, input_pos - 1] = v",
         "layer 0, values (inferred): rows of tokens ? come back where 0 belong"),
    ],
)  # fmt: skip
def test_rows_that_are_missing_or_wrong_are_named(tmp_path, decoded, of, old, new, said):
    finding = decoded(changed(tmp_path, of, old, new), RIGHT[of]).finding
    assert said in finding.found


@pytest.mark.parametrize("dtype", ["np.float16", "np.float32"])
def test_rows_that_a_class_rounds_to_its_own_type_are_right(tmp_path, decoded, dtype):
    path = changed(tmp_path, "contiguous", "self.k = np.zeros((max_len, d_k))",
                   f"self.k = np.zeros((max_len, d_k), {dtype})")  # fmt: skip
    found = decoded(path, "KVCache")
    assert (len(found.models), found.finding, found.not_covered) == (3, None, ())


@pytest.mark.parametrize(
    ("new", "what", "said"),
    [
        ("k if k.dtype == torch.float32 else k * 1.2", "rows of float16", "layer 0, keys"),
        ("k if k.dtype != torch.bfloat16 else k * 1.2", "rows of bfloat16", "layer 0, keys"),
        ("k[:1]", "two texts of 10 and 8 tokens in one batch", "a logit of text 1 is off by"),
    ],
)
def test_what_goes_wrong_in_16_bits_or_in_a_batch_alone_is_found(
    tmp_path, decoded, new, what, said
):
    path = changed(tmp_path, "layered", "self.key_cache[layer_idx][:, :, start:end] = k",
                   f"self.key_cache[layer_idx][:, :, start:end] = {new}")  # fmt: skip
    found = decoded(path, "LayeredCache").finding
    assert found.what == what
    assert said in found.found


def test_rows_of_a_type_that_a_class_refuses_are_not_covered(tmp_path, decoded):
    path = changed(tmp_path, "layered", "        held = self.key_cache[layer_idx]\n",
                   "        held = self.key_cache[layer_idx]\n"
                   "        assert k.dtype == torch.float32, 'float32 only'\n")  # fmt: skip
    found = decoded(path, "LayeredCache")
    assert found.finding is None
    assert found.not_covered == (
        "rows of float16: AssertionError: float32 only",
        "rows of bfloat16: AssertionError: float32 only",
    )


@pytest.mark.parametrize(
    ("of", "old", "new", "preset"),
    [
        ("ring", "recent = range(self.seen - (self.window - self.sinks), self.seen)",
         "recent = range(self.seen - (self.window - self.sinks) + 1, self.seen)",
         "evict-one-short"),
        ("layered", "self.value_cache[layer_idx][:, :, start:end] = v",
         "self.value_cache[0][:, :, start:end] = v", None),
        ("contiguous", "return self.v[: self.n]", "return self.v[: self.n][::-1]", None),
    ],
)  # fmt: skip
def test_a_fault_that_gives_just_these_rows_is_named(tmp_path, decoded, of, old, new, preset):
    assert decoded(changed(tmp_path, of, old, new), RIGHT[of]).finding.preset_like == preset


@pytest.mark.parametrize("number", [1.0, 1.00390625, 1.001, 65504.0, 3.1415926, -0.1, 1e-6])
def test_numbers_are_rounded_as_torch_does(number):
    for dtype in ("float16", "bfloat16", "float32"):
        right = torch.tensor(number, dtype=torch.float64).to(getattr(torch, dtype)).double()
        assert rounded(np.array([number]), dtype) == right.numpy()


def decoded_with(subjects, **arguments):
    subject = subjects.turned_to(Source(CACHES / "contiguous.py", "KVCache", arguments))
    return model_test(subject, plan_for(subject, frozenset()))


def test_a_model_is_made_in_the_sizes_that_are_given(subjects):
    found = decoded_with(subjects, d_k=3)
    made = tuple(f"tiny-{kind} of 4 layers, 4 KV heads, d = 3" for kind in ("learned", "alibi"))
    assert (found.models, found.finding) == (made, None)
    assert found.not_covered == (
        "tiny-rope of 4 layers, 2 KV heads, d = 3: head size 3 cannot be rotated in pairs; it must "
        "be even",
    )


def test_arguments_that_no_model_has_are_not_covered(subjects):
    found = decoded_with(subjects, d_k=3, d_v=5)
    assert found.models == ()
    said = "tiny-rope: keys and values of one size, of one text, are what it has; the class has"
    assert f"{said} d_k = 3, d_v = 5 and 1 text" in found.not_covered


FIXED = """
import numpy as np

class Fixed:
    def __init__(self):
        self.k, self.v, self.n = np.zeros((32, D)), np.zeros((32, D)), 0

    def append(self, k, v):
        if WRONG:
            raise ValueError("shape")
        self.k[self.n : self.n + len(k)], self.v[self.n : self.n + len(k)] = k, v
        self.n += len(k)

    def keys(self):
        return self.k[: self.n]

    def values(self):
        return self.v[: self.n]
"""


def fixed(folder, d, wrong):
    path = folder / "theirs.py"
    path.write_text(FIXED.replace("D)", f"{d})").replace("WRONG", wrong), encoding="utf-8")
    return path


def test_to_a_class_of_one_head_size_a_model_of_that_size_decodes(decoded, tmp_path):
    found = decoded(fixed(tmp_path, 4, "k.shape[1] != 4"), "Fixed")
    assert (found.finding, found.not_covered) == (None, ())
    assert found.models[0] == "tiny-learned of 4 layers, 4 KV heads, d = 4"
    assert len(found.models) == 3


def test_a_model_that_was_made_finds_what_the_built_in_ones_find(decoded, tmp_path):
    path = fixed(tmp_path, 4, "k.shape[1] != 4")
    text = path.read_text("utf-8").replace(
        "return self.v[: self.n]", "return self.v[: self.n][::-1]"
    )
    path.write_text(text, encoding="utf-8")
    finding = decoded(path, "Fixed").finding
    assert "values (inferred): rows of tokens 1, 0 come back where 0, 1 belong" in finding.found
    assert run_of_finding(finding) is None


SHELVES = """
import numpy as np

class Shelves:
    def __init__(self):
        self.k, self.v = [[] for _ in range(LAYERS)], [[] for _ in range(LAYERS)]

    def put(self, layer, k, v):
        if k.shape[0] != HEADS or k.shape[2] != SIZE:
            raise ValueError("shape")
        if layer >= LAYERS:
            raise ValueError("layer")
        if k.shape != v.shape:
            raise ValueError("pair")
        self.k[layer].append(k.copy())
        self.v[layer].append(v.copy())
"""
PUTTING = """
import numpy as np
from kvscope_check import CacheAdapter

class Adapter(CacheAdapter):
    ATTRIBUTES

    def make(self, cls, **sizes):
        return cls()

    def append(self, cache, layer, k, v):
        cache.put(layer, k, v)

    def read(self, cache, layer):
        shape = (HEADS, 0, SIZE)
        return [np.concatenate([np.zeros(shape), *kept[layer]], axis=1)
                for kept in (cache.k, cache.v)]
"""


@pytest.mark.parametrize(
    ("layers", "heads", "size", "attributes", "made"),
    [
        (2, 2, 4, "pass", "tiny-learned of 2 layers, 2 KV heads, d = 4"),
        (3, 8, 16, "n_layers, n_heads, d_k, d_v = 3, 8, 16, 16",
         "tiny-learned of 3 layers, 8 KV heads, d = 16"),
        (1, 1, 6, "n_layers, n_heads, d_k, d_v = 1, 1, 6, 6",
         "tiny-learned of 4 layers, 1 KV heads, d = 6"),
    ],
    ids=["found out", "said", "one of each"],
)  # fmt: skip
def test_a_class_of_fixed_sizes_is_driven_with_them(
    subjects, tmp_path, layers, heads, size, attributes, made
):
    path, adapter = tmp_path / "shelves.py", tmp_path / "adapter.py"
    for place, text in ((path, SHELVES), (adapter, PUTTING)):
        numbers = {"LAYERS": layers, "HEADS": heads, "SIZE": size, "ATTRIBUTES": attributes}
        pattern = "|".join(numbers)
        filled = re.sub(pattern, lambda found, of=numbers: str(of[found.group()]), text)
        place.write_text(filled, encoding="utf-8")
    subject = subjects.turned_to(Source(path, "Shelves", adapter=adapter))
    plan = plan_for(subject, frozenset())
    verdicts = check(subject, plan)
    assert [verdict.rule for verdict in verdicts if verdict.state == "fail"] == []
    found = model_test(subject, plan)
    assert (found.models[0], found.finding) == (made, None)
    assert len(found.models) == 3


def test_a_class_that_refuses_the_head_size_of_the_models_alone_is_to_blame(decoded, tmp_path):
    path = fixed(tmp_path, 8, "k.shape[1] == 8")
    text = path.read_text("utf-8").replace("np.zeros((32, 8))", "np.zeros((32, k.shape[1]))")
    text = text.replace("def __init__(self):", "n = 0\n\n    def start(self, k):")
    text = text.replace(
        "        if k", "        if self.n == 0:\n            self.start(k)\n        if k"
    )
    path.write_text(text, encoding="utf-8")
    assert decoded(path, "Fixed").finding.found == "ValueError: shape"


def test_a_class_that_is_told_the_head_size_has_to_take_it(decoded, tmp_path):
    path = changed(tmp_path, "contiguous", "if k.shape[1] != self.k.shape[1] or",
                   "if k.shape[1] != 4 or")  # fmt: skip
    assert decoded(path, "KVCache").finding.found == "ValueError: wrong head size"
