"""Ways in which people's caches take rows and show them, with an adapter and without one."""

import re
import textwrap
from importlib import metadata
from pathlib import Path

import pytest

from core.contract.check import check
from core.contract.plan import plan_for
from core.contract.subject import NotDrivableError, Source, Subject

ROOT = Path(__file__).parents[3]
CACHES = ROOT / "tests" / "helpers" / "caches"
ADAPTERS = ROOT / "tests" / "helpers" / "adapters"
SURFACES = {
    ("positions", "PositionsCache"): ("update(input_pos, k_val, v_val)", "bhnd", "refuse"),
    ("fetching", "FetchingCache"): ("update_and_fetch(keys, values)", "bhnd", "unbounded"),
    ("listed", "ListedCache"): ("append(layer, k, v)", "hnd", "unbounded"),
    ("saving", "SavingCache"): ("append(k, v)", "nd", "refuse"),
}

TAKES_WHAT_FITS = """\
        fits = input_pos < shape[2]
        if fits.any():
            input_pos, k_val, v_val = input_pos[fits], k_val[:, :, fits], v_val[:, :, fits]
        k, v = k_val.to"""


@pytest.fixture
def asked(subjects):
    """The plan of a class, and verdict by rule."""

    def told(source, declared=(), only=()):
        subject = subjects.turned_to(source)
        plan = plan_for(subject, frozenset(declared))
        return plan, {verdict.rule: verdict for verdict in check(subject, plan, only)}

    return told


def failing(verdicts):
    return {rule for rule, verdict in verdicts.items() if verdict.state == "fail"}


def changed(folder, of, old, new):
    text = (CACHES / f"{of}.py").read_text("utf-8")
    assert text.count(old) == 1
    path = folder / "theirs.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize("named", SURFACES)
def test_a_surface_is_recognised_and_a_right_class_of_it_breaks_no_rule(asked, named):
    file, name = named
    plan, verdicts = asked(Source(CACHES / f"{file}.py", name))
    surface = plan.surface
    assert (surface.words, surface.layout, plan.policy) == SURFACES[named]
    assert failing(verdicts) == set()
    assert sum(verdict.state == "pass" for verdict in verdicts.values()) >= 15


@pytest.mark.parametrize(
    ("of", "name", "old", "new", "rule"),
    [
        ("positions", "PositionsCache", "[:, :, input_pos] = k", "[:, :, input_pos - 1] = k", 3),
        ("positions", "PositionsCache", "        k, v = k_val.to", TAKES_WHAT_FITS, 10),
        ("fetching", "FetchingCache", "self.offset += keys.shape[2]", "self.offset += 1", 2),
        ("fetching", "FetchingCache", "self.values[:, :, :end]", "self.values", 4),
        ("listed", "ListedCache", "self.v[layer] = np", "self.v[0] = np", 20),
    ],
)
def test_a_wrong_class_of_each_surface_is_found(asked, tmp_path, of, name, old, new, rule):
    path = changed(tmp_path, of, old, new)
    _, verdicts = asked(Source(path, name), only=(rule,))
    assert failing(verdicts) == {rule}


def test_a_start_that_is_a_number_is_given_as_one(asked, tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(
        textwrap.dedent("""
            import numpy as np

            class Placed:
                def __init__(self, max_seq_len, dim):
                    self.cache_k = np.zeros((max_seq_len, dim))
                    self.cache_v = np.zeros((max_seq_len, dim))

                def update(self, xk, xv, start_pos):
                    end = start_pos + len(xk)
                    if end > len(self.cache_k) or len(xk) != len(xv):
                        raise ValueError(end)
                    self.cache_k[start_pos:end] = xk
                    self.cache_v[start_pos:end] = xv
                    return self.cache_k, self.cache_v
        """),
        encoding="utf-8",
    )
    plan, verdicts = asked(Source(path, "Placed"))
    assert plan.is_whole
    assert failing(verdicts) == set()


def blocks_of_the_guide():
    text = (ROOT / "core" / "README.md").read_text("utf-8")
    section = text.split("## Your own cache\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def test_the_adapter_of_the_guide_drives_its_class(asked, tmp_path):
    theirs, adapter = blocks_of_the_guide()
    assert len(adapter.splitlines()) <= 30
    (tmp_path / "shelf.py").write_text(theirs, encoding="utf-8")
    (tmp_path / "shelf_adapter.py").write_text(adapter, encoding="utf-8")
    source = Source(tmp_path / "shelf.py", "Shelf", {}, tmp_path / "shelf_adapter.py")
    plan, verdicts = asked(source)
    assert plan.policy == "refuse"
    assert failing(verdicts) == set()
    assert verdicts[20].state == "pass"
    with pytest.raises(NotDrivableError, match="cannot guess rows of Shelf"):
        Subject(Source(tmp_path / "shelf.py", "Shelf"))


def test_an_adapter_without_a_way_to_add_rows_is_named(tmp_path):
    path = tmp_path / "adapter.py"
    path.write_text(
        "from kvscope_check import CacheAdapter\n\n"
        "class Half(CacheAdapter):\n    def make(self, cls, **sizes):\n        return cls()\n",
        encoding="utf-8",
    )
    with pytest.raises(NotDrivableError, match=r"the adapter Half has no append\(\)"):
        Subject(Source(CACHES / "listed.py", "ListedCache", {}, path))


@pytest.mark.parametrize(
    ("name", "adapter", "declared", "rules", "right"),
    [
        ("DynamicCache", None, (), {7, 11}, {3, 4, 16, 20, 27}),
        ("StaticCache", "static", ("whole_buffer",), {11, 19, 28}, {3, 9, 16, 20, 27}),
        ("DynamicCache", "sliding", (), {7, 11, 23}, {3, 16, 20, 25, 27}),
        ("StaticCache", "static_sliding", ("whole_buffer",), {11}, {3, 16, 20, 23, 26, 27}),
    ],
)
def test_caches_of_transformers_break_the_rules_that_are_told_of_them(
    asked, tmp_path, name, adapter, declared, rules, right
):
    if metadata.version("transformers") != "5.24.0":
        pytest.skip("what is told of them is told of transformers 5.24.0")
    path = tmp_path / "theirs.py"
    path.write_text("from transformers import DynamicCache, StaticCache\n", encoding="utf-8")
    with_adapter = None if adapter is None else ADAPTERS / f"{adapter}.py"
    only = (*rules, *right)
    _, verdicts = asked(Source(path, name, {}, with_adapter), declared, only)
    assert failing(verdicts) == rules
