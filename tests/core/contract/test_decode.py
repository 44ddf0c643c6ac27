"""Small models decode with what a class gives back, and with nothing else."""

from pathlib import Path

import pytest

from core.contract.check import check
from core.contract.decode import model_test
from core.contract.plan import plan_for
from core.contract.report import as_json
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
    assert found.not_covered == (("several sequences: one is decoded",) if has_batch else ())


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


def test_narrow_rows_are_not_judged_by_their_rounding(tmp_path, decoded):
    path = changed(tmp_path, "contiguous", "self.k = np.zeros((max_len, d_k))",
                   "self.k = np.zeros((max_len, d_k), np.float16)")  # fmt: skip
    found = decoded(path, "KVCache")
    said = "rows that come back as float16: that alone moves a logit"
    assert (found.models, found.finding, found.not_covered) == ((), None, (said,))


def test_arguments_that_no_model_has_are_not_covered(subjects):
    subject = subjects.turned_to(Source(CACHES / "contiguous.py", "KVCache", {"d_k": 3}))
    found = model_test(subject, plan_for(subject, frozenset()))
    assert found.models == ()
    assert "tiny-rope: its rows are of other sizes than those that are given" in found.not_covered
