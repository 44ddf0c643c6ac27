"""Small models decode with what a class gives back, and with nothing else."""

from pathlib import Path

import pytest

from core.contract.check import check
from core.contract.decode import model_test
from core.contract.plan import plan_for
from core.contract.report import as_json
from core.contract.subject import Source, Subject

CACHES = Path(__file__).parents[2] / "helpers" / "caches"
RIGHT = {"contiguous": "KVCache", "ring": "RingCache", "layered": "LayeredCache",
         "positions": "PositionsCache"}  # fmt: skip


def decoded(path, name):
    with Subject(Source(path, name)) as subject:
        return model_test(subject, plan_for(subject, frozenset()))


def changed(folder, of, old, new):
    text = (CACHES / f"{of}.py").read_text("utf-8")
    assert text.count(old) == 1
    path = folder / "theirs.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize("file", RIGHT)
def test_with_a_right_class_models_decode_as_without_a_cache(file):
    assert decoded(CACHES / f"{file}.py", RIGHT[file]) is None


def test_numbers_that_are_rounded_break_no_rule_and_are_found_where_a_model_decodes(tmp_path):
    path = changed(tmp_path, "contiguous", "self.k[self.n : self.n + new] = k",
                   "self.k[self.n : self.n + new] = np.round(k)")  # fmt: skip
    with Subject(Source(path, "KVCache")) as subject:
        plan = plan_for(subject, frozenset())
        verdicts = check(subject, plan)
        found = model_test(subject, plan)
    assert not any(verdict.state == "fail" for verdict in verdicts)
    assert (found.model, found.layer) == ("tiny-learned", 0)
    finding = as_json(verdicts, found)["findings"][0]
    assert finding["rule"] is None
    assert finding["where"]["step"] == found.step


@pytest.mark.parametrize(
    ("of", "old", "new"),
    [
        ("contiguous", "return self.v[: self.n]", "return self.v[: self.n][::-1]"),
        ("contiguous", "self.k[self.n : self.n + new] = k", "self.k[: new] = k"),
        ("ring", "recent = range(self.seen - (self.window - self.sinks), self.seen)",
         "recent = range(self.seen - (self.window - self.sinks) + 1, self.seen)"),
        ("layered", "self.lengths[layer_idx] = end", "self.lengths[0] = end"),
        ("positions", "[:, :, input_pos] = v", "[:, :, input_pos - 1] = v"),
    ],
)  # fmt: skip
def test_rows_that_are_missing_or_wrong_change_what_a_model_says(tmp_path, of, old, new):
    assert decoded(changed(tmp_path, of, old, new), RIGHT[of]) is not None


def test_narrow_rows_are_not_judged_by_their_rounding(tmp_path):
    path = changed(tmp_path, "contiguous", "self.k = np.zeros((max_len, d_k))",
                   "self.k = np.zeros((max_len, d_k), np.float16)")  # fmt: skip
    assert decoded(path, "KVCache") is None
