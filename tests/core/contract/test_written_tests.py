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
    ("layered", "if k.device != held.device:", "if k.is_meta:\n            return self.get(layer_idx)\n        if False:", (36,)),
    ("layered", "self.lengths = [min(n, length) for length in self.lengths]", "self.lengths[0] = n", (28,)),
    ("saving", "k, v, self.n = saved", "k, v, _ = saved", (31,)),
    ("positions", "[:, :, input_pos] = k", "[:, :, input_pos - 1] = k", (3,)),
    ("fetching", "self.offset += keys.shape[2]", "self.offset += 1", (5, 3, 2)),
    ("listed", "self.k[layer] = np.concatenate([self.k[layer], k], axis=1)", "self.k[layer] = np.concatenate([k, self.k[layer]], axis=1)", (3,)),
)  # fmt: skip
"""Class, what stands there, what is put in its place, rules of which one at least fails."""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A folder with a class and its tests for each mutant; the tests' names by mutant."""
    folder = tmp_path_factory.mktemp("written")
    written = []
    for n, (of, old, new, rules) in enumerate(MUTANTS):
        text = (CACHES / f"{of}.py").read_text("utf-8")
        assert text.count(old) == 1, (of, old)
        path = folder / f"their_{n}.py"
        path.write_text(text.replace(old, new), encoding="utf-8")
        source = Source(path, NAMES[of])
        with Subject(source, limit_s=2.0) as subject:
            plan = plan_for(subject, frozenset())
            verdicts = check(subject, plan, rules)
        roots = {verdict.rule for verdict in verdicts if verdict.state == "fail"}
        (folder / f"test_their_{n}.py").write_text(
            text_of_tests(source, plan, verdicts), encoding="utf-8"
        )
        written.append((of, roots))
    return folder, written


def outcomes(folder):
    """The outcome of each written test, run where kvscope is not to be found."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    (folder / "test_alone.py").write_text(
        "import importlib.util\n\ndef test_alone():\n"
        "    assert importlib.util.find_spec('core') is None\n",
        encoding="utf-8",
    )
    run = subprocess.run(  # noqa: S603  (pytest on what was written here)
        [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-q",
         "--tb=short", "--rootdir", str(folder), "-c", os.devnull, str(folder)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = {}
    for outcome, n, rule in re.findall(
        r"^(PASSED|FAILED|ERROR) \S*test_their_(\d+)\.py::test_rule_(\d+)", run.stdout, re.M
    ):
        found.setdefault(int(n), {})[int(rule)] = outcome
    assert re.search(r"^PASSED \S*test_alone", run.stdout, re.M), run.stdout
    return found, run.stdout


def test_they_fail_on_the_faulty_class_and_pass_once_it_is_repaired(faulty):
    folder, written = faulty
    assert [MUTANTS[n] for n, (_, roots) in enumerate(written) if not roots] == []
    found, text = outcomes(folder)
    assert found == {n: dict.fromkeys(r, "FAILED") for n, (_, r) in enumerate(written)}, text
    for n, (of, _) in enumerate(written):
        right = (CACHES / f"{of}.py").read_text("utf-8")
        (folder / f"their_{n}.py").write_text(right, encoding="utf-8")
    found, text = outcomes(folder)
    assert found == {n: dict.fromkeys(r, "PASSED") for n, (_, r) in enumerate(written)}, text


def test_they_name_nothing_of_kvscope(faulty):
    folder, _ = faulty
    for path in folder.glob("test_their_*.py"):
        imported = re.findall(r"^(?:import|from) (\w+)", path.read_text("utf-8"), re.M)
        assert set(imported) <= {
            "contextlib", "functools", "importlib", "numpy", "pathlib", "pytest", "sys",
            "threading", "time", "torch",
        }  # fmt: skip
