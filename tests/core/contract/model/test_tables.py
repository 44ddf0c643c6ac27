"""Which tables are taken for those that positions are looked up in: rotary ones, and no masks."""

import textwrap

import pytest

from core.contract.model.check import check_model_of
from core.contract.model.sessions import Wish
from core.contract.model.subject import ModelSubject, Source

FAST = """
import torch
from torch import nn
from torch.nn import functional as F

S = 24

def booleans():
    return torch.tril(torch.ones(S, S, dtype=torch.bool))

def added():
    return torch.triu(torch.full((S, S), float("-inf")), 1)

class Fast(nn.Module):
    def __init__(self, mask, bad):
        super().__init__()
        torch.manual_seed(3)
        self.bad = bad
        self.e, self.q, self.kv = nn.Embedding(50, 8), nn.Linear(8, 8), nn.Linear(8, 16)
        self.h = nn.Linear(8, 50)
        turns = torch.outer(torch.arange(float(S)), torch.tensor([1.0, 0.5, 0.25, 0.1]))
        self.register_buffer("mask", mask)
        self.register_buffer("turns", torch.polar(torch.ones_like(turns), turns))
        self.register_buffer("k", torch.zeros(2, 1, S, 8))
        self.register_buffer("v", torch.zeros(2, 1, S, 8))

    def rows(self, table, name, input_pos):
        n = len(input_pos)
        if self.bad == "unused" and name == "turns":
            table[input_pos]
            return table[:n]
        return table[:n] if self.bad == name else table[input_pos]

    def forward(self, idx, input_pos):
        x = self.e(idx)
        mask = self.rows(self.mask, "mask", input_pos)
        turns = self.rows(self.turns, "turns", input_pos)
        for i in range(2):
            x = self.layer(x, i, mask, turns, input_pos)
        return self.h(x)

    def layer(self, x, i, mask, turns, input_pos):
        q, (k, v) = self.q(x), self.kv(x).split(8, -1)
        q, k = (
            torch.view_as_real(torch.view_as_complex(a.reshape(*a.shape[:-1], 4, 2)) * turns)
            .flatten(-2) for a in (q, k)
        )
        self.k[i, 0, input_pos], self.v[i, 0, input_pos] = k[0], v[0]
        k, v = self.k[i : i + 1], self.v[i : i + 1]
        y = F.scaled_dot_product_attention(q[:, None], k, v, attn_mask=mask[None, None])
        return x + y[:, 0]
"""


@pytest.fixture(scope="module")
def findings_of(tmp_path_factory):
    """The names of the findings, and their evidence, of a mask and a fault."""
    path = tmp_path_factory.mktemp("fast") / "fast.py"
    makers = [
        f"def {mask}_{bad}():\n    return Fast({mask}(), '{bad}').eval()\n"
        for mask in ("booleans", "added")
        for bad in ("none", "mask", "turns", "unused")
    ]
    path.write_text("\n".join([textwrap.dedent(FAST), *makers]), encoding="utf-8")
    with ModelSubject(Source(path, "booleans_none")) as subject:

        def told(name):
            subject.turn_to(Source(path, name))
            found = check_model_of(subject, Wish(n_steps=4)).findings
            return [one.preset_like for one in found], str([one.evidence for one in found])

        yield told


@pytest.mark.parametrize("mask", ["booleans", "added"])
def test_rows_of_a_mask_are_no_positions(findings_of, mask):
    assert findings_of(f"{mask}_none")[0] == []
    names, evidence = findings_of(f"{mask}_mask")
    assert names == ["mask-top-left"]
    assert "position ids" not in evidence


@pytest.mark.parametrize("mask", ["booleans", "added"])
def test_rows_of_a_rotary_table_are_positions_though_a_mask_is_looked_up_first(findings_of, mask):
    names, evidence = findings_of(f"{mask}_turns")
    assert names == ["pos-restart"]
    assert "position ids looked up in turns are [0], must be [5]" in evidence


@pytest.mark.parametrize("mask", ["booleans", "added"])
def test_a_right_look_up_that_goes_unused_does_not_hide_the_wrong_one_that_is_used(
    findings_of, mask
):
    names, evidence = findings_of(f"{mask}_unused")
    assert names == ["pos-restart"]
    assert "position ids looked up in turns are [0], must be [5]" in evidence
