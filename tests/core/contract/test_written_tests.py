"""Written tests fail on the class that they were written for, and pass once it is repaired."""

# A mutant is a line.
# ruff: noqa: E501

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.contract.check import check
from core.contract.plan import plan_for
from core.contract.subject import Source, Subject
from core.contract.written_tests import test_file as text_of_tests
from tests.helpers.subjects import Subjects

CACHES = Path(__file__).parents[2] / "helpers" / "caches"
NAMES = {
    "contiguous": "KVCache",
    "ring": "RingCache",
    "layered": "LayeredCache",
    "positions": "PositionsCache",
    "fetching": "FetchingCache",
    "listed": "ListedCache",
    "saving": "SavingCache",
}
SHELF = """
import numpy as np

class Shelf:
    def __init__(self, layers, rows, heads, size):
        self.pairs = np.zeros((layers, 2, rows, heads, size))
        self.used = [0] * layers

    def place(self, layer, pair):  # [2, rows, heads, size]
        start = self.used[layer]
        end = start + pair.shape[1]
        if END > self.pairs.shape[2]:
            raise OverflowError(f"{end} rows, room for {self.pairs.shape[2]}")
        self.pairs[layer, :, start:end] = pair
        self.used[layer] = end

    def forget(self, n):
        if not 0 <= n <= max(self.used):
            raise ValueError(n)
        self.used = [min(n, used) for used in self.used]
"""
ADAPTER = """
import numpy as np
from kvscope_check import CacheAdapter

class ShelfAdapter(CacheAdapter):
    layout = "nhd"

    def make(self, cls, *, capacity, n_layers, n_heads, d_k, **others):
        return cls(n_layers, capacity, n_heads, d_k)

    def append(self, cache, layer, k, v):
        cache.place(layer, np.stack([k, v]))

    def read(self, cache, layer):
        return cache.pairs[layer, :, : cache.used[layer]]

    def length(self, cache, layer):
        return cache.used[layer]

    def truncate(self, cache, n):
        cache.forget(n)
"""
"""A class that nobody can recognise, END being `end` where it is right, and how it is driven."""

MUTANTS = (
    ("contiguous", "self.n + new > self.max_len", "self.n + new >= self.max_len", (9,)),
    ("contiguous", "if self.n + new > self.max_len:", "if self.n == self.max_len - 1:\n            k, v, new = k[:1], v[:1], 1\n        if self.n + new > self.max_len:", (10,)),
    ("contiguous", "return self.v[: self.n]", "return self.v", (4, 1)),
    ("contiguous", "        new = len(k)\n", "        new = len(k); self.n += not new\n", (13,)),
    ("listed", "if k.shape != v.shape:", "if False:", (7,)),
    ("contiguous", "if k.shape[1] != self.k.shape[1] or v.shape[1] != self.v.shape[1]:", "k, v = k[:, : self.k.shape[1]], v[:, : self.v.shape[1]]\n        if False:", (8,)),
    ("contiguous", "self.n = 0\n\n    def append", "self.n = np.array(0)\n\n    def append", (19,)),
    ("contiguous", "    def reset(self):\n        self.n = 0", "    def reset(self):\n        self.n = 1", (27,)),
    ("contiguous", "if not 0 <= n <= self.n:", "if False:", (28,)),
    ("contiguous", "self.k[self.n : self.n + new] = k", "self.k[self.n : self.n + new] = np.nan_to_num(k)", (34,)),
    ("contiguous", "self.k[self.n : self.n + new] = k", "self.k = self.k.astype(k.dtype); self.k[self.n : self.n + new] = k", (35,)),
    ("contiguous", "self.k[self.n : self.n + new] = k", "self.k[self.n : self.n + new] = np.frombuffer(k.tobytes('A'), k.dtype).reshape(k.shape)", (37,)),
    ("contiguous", "self.n += new", "self.n += new if k.any() else 0", (38,)),
    ("contiguous", "if self.n + new > self.max_len:", "while self.n + new > self.max_len:\n            pass\n        if False:", (9,)),
    ("ring", "(token - self.sinks) % size", "token % size", (24,)),
    ("ring", "if k.shape[1] > 1:", "if False:", (25,)),
    ("ring", "return min(self.seen, self.window)", "return min(self.seen, self.window - 1)", (21, 22, 26)),
    ("layered", "self.value_cache = [torch.zeros(shape, dtype=dtype)", "self.value_cache = [torch.zeros(shape)", (35,)),
    ("layered", "self.lengths[layer_idx] = end", "self.lengths[0] = end", (20,)),
    ("layered", "self.value_cache[layer_idx] = self.value_cache[layer_idx].index_select(0, index)", "pass", (32,)),
    ("layered", "self.lengths = [min(n, length) for length in self.lengths]", "self.lengths[0] = n", (28,)),
    ("saving", "k, v, self.n = saved", "k, v, _ = saved", (31,)),
    ("positions", "[:, :, input_pos] = k", "[:, :, input_pos - 1] = k", (3,)),
    ("fetching", "self.offset += keys.shape[2]", "self.offset += 1", (5, 3, 2)),
    ("contiguous", 'raise ValueError(f"cache full: {new} more rows, {self.max_len - self.n} free")', "[].pop()", (9,)),
    ("contiguous", "self.n = 0\n\n    def append", "self.n = 0\n        self.__dict__ = globals().setdefault('shared', self.__dict__)\n\n    def append", (1,)),
    ("listed", "self.k[layer] = np.concatenate([self.k[layer], k], axis=1)", "self.k[layer] = np.concatenate([k, self.k[layer]], axis=1)", (3,)),
)  # fmt: skip
"""Class, what stands there, what is put in its place, rules of which one at least fails."""


ALONE = """
import importlib
import sys

import pytest

OURS = ("app", "core", "resources", "tests")


class NotOurs:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in OURS:
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, NotOurs)
for name in OURS:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)
"""
"""Beside the written tests, wherever kvscope is installed: its packages cannot be imported."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with faulty classes and their tests, and one with the same tests of right classes.

    Also the rules that are broken, in the order of the mutants.
    """
    folder = tmp_path_factory.mktemp("written")
    (folder / "conftest.py").write_text(ALONE, encoding="utf-8")
    faulty, repaired = folder / "faulty", folder / "repaired"
    faulty.mkdir()
    repaired.mkdir()
    broken = []
    with Subjects(limit_s=2.0) as subjects:
        for n, (of, old, new, rules) in enumerate(MUTANTS):
            right = (CACHES / f"{of}.py").read_text("utf-8")
            assert right.count(old) == 1, (of, old)
            path = faulty / f"their_{n}.py"
            path.write_text(right.replace(old, new), encoding="utf-8")
            source = Source(path, NAMES[of])
            subject = subjects.turned_to(source)
            plan = plan_for(subject, frozenset())
            verdicts = check(subject, plan, rules)
            text = text_of_tests(source, plan, verdicts, faulty)
            (faulty / f"test_their_{n}.py").write_text(text, encoding="utf-8")
            (repaired / path.name).write_text(right, encoding="utf-8")
            assert str(folder) not in text
            (repaired / f"test_their_{n}.py").write_text(text, encoding="utf-8")
            broken.append({verdict.rule for verdict in verdicts if verdict.state == "fail"})
    return folder, broken


def outcomes(folder):
    """The outcome of each written test by folder and mutant; kvscope cannot be imported there."""
    run = subprocess.run(  # noqa: S603  (pytest on what was written here)
        [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-q",
         "--tb=line", "--import-mode=importlib", "--assert=plain",
         "--rootdir", str(folder), "-c", os.devnull, str(folder)],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = {"faulty": {}, "repaired": {}}
    for outcome, of, n, rule in re.findall(
        r"^(PASSED|FAILED|ERROR) \S*(faulty|repaired)/test_their_(\d+)\.py::test_rule_(\d+)",
        run.stdout,
        re.MULTILINE,
    ):
        found[of].setdefault(int(n), {})[int(rule)] = outcome
    return found, run.stdout + run.stderr


def test_they_fail_on_the_faulty_class_and_pass_once_it_is_repaired(written):
    folder, broken = written
    assert [MUTANTS[n] for n, roots in enumerate(broken) if not roots] == []
    found, text = outcomes(folder)
    for of, outcome in (("faulty", "FAILED"), ("repaired", "PASSED")):
        wanted = {n: dict.fromkeys(roots, outcome) for n, roots in enumerate(broken)}
        assert found[of] == wanted, text


def test_they_name_nothing_of_kvscope(written):
    folder, _ = written
    for path in (folder / "faulty").glob("test_their_*.py"):
        imported = re.findall(r"^(?:import|from) (\w+)", path.read_text("utf-8"), re.M)
        assert set(imported) <= {
            "contextlib", "functools", "importlib", "numpy", "pathlib", "pytest", "sys",
            "threading", "time", "torch",
        }  # fmt: skip


def test_of_a_class_behind_an_adapter_they_use_the_adapter_and_nothing_of_kvscope(tmp_path):
    (tmp_path / "conftest.py").write_text(ALONE, encoding="utf-8")
    rights = {"faulty": "start", "repaired": "end"}
    for folder, end in rights.items():
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "their_0.py"
        path.write_text(SHELF.replace("END", end), encoding="utf-8")
        path.with_name("adapter.py").write_text(ADAPTER, encoding="utf-8")
    path = tmp_path / "faulty" / "their_0.py"
    source = Source(path, "Shelf", adapter=path.with_name("adapter.py"))
    with Subject(source) as subject:
        plan = plan_for(subject, frozenset())
        verdicts = check(subject, plan)
    roots = {verdict.rule for verdict in verdicts if verdict.state == "fail"}
    assert roots
    for folder in rights:
        there = tmp_path / folder
        text = text_of_tests(source, plan, verdicts, path.parent)
        assert str(tmp_path) not in text
        (there / "test_their_0.py").write_text(text, encoding="utf-8")
    found, text = outcomes(tmp_path)
    assert found["faulty"] == {0: dict.fromkeys(roots, "FAILED")}, text
    assert found["repaired"] == {0: dict.fromkeys(roots, "PASSED")}, text


def test_a_file_that_lies_far_away_is_named_in_full_and_one_that_is_gone_is_told(tmp_path):
    path = tmp_path / "a" / "theirs.py"
    path.parent.mkdir()
    path.write_text((CACHES / "interview.py").read_text("utf-8"), encoding="utf-8")
    source = Source(path, "KVCache")
    with Subject(source) as subject:
        plan = plan_for(subject, frozenset())
        verdicts = check(subject, plan, (9,))
    far = text_of_tests(source, plan, verdicts, tmp_path / "b" / "c" / "d")
    assert f'FILE = Path("{path}")' in far
    near = text_of_tests(source, plan, verdicts, tmp_path / "b")
    assert 'FILE = Path(__file__).resolve().parent / "../a/theirs.py"' in near
    gone = tmp_path / "faulty"
    gone.mkdir()
    (gone / "test_their_0.py").write_text(near, encoding="utf-8")
    path.unlink()
    found, text = outcomes(tmp_path)
    assert found["faulty"] == {0: {9: "FAILED"}}
    assert "theirs.py is not there: say at the head of" in text
