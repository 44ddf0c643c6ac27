"""A small model decodes with somebody's class, and the records say what happened."""

import numpy as np
import pytest

from core.contract.decode import model_test
from core.contract.plan import plan_for
from core.contract.run_of_calls import run_of_finding
from core.contract.run_plan import Act
from core.contract.subject import Source
from core.driven.file import judged_run, save_run
from core.errors import CoreError
from core.model.loading import load_model
from core.outcome import OK, Refused
from core.session import Session
from core.spec import RunSpec
from core.trace import rows_as_read
from core.tracefile import open_trace
from tests.core.driven.conftest import CACHES

ONE = Act("read", 1)
GROWING = (Act("read", 3), ONE, Act("read", 2), ONE)
RIGHT = (CACHES / "contiguous.py").read_text("utf-8")


def verdicts(run):
    return [
        (v.policy, v.mechanism, None if v.logits is None else v.logits.standing)
        for v in run.verdicts
    ]


def right(n):
    return [("right", "right", "right")] * n


def given(old, new):
    """The right class with one change."""
    assert RIGHT.count(old) == 1
    return RIGHT.replace(old, new)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("contiguous", "KVCache"),
        ("layered", "LayeredCache"),
        ("listed", "ListedCache"),
        ("fetching", "FetchingCache"),
        ("positions", "PositionsCache"),
        ("saving", "SavingCache"),
        ("ring", "RingCache"),
    ],
)
@pytest.mark.parametrize("model", ["tiny-learned", "tiny-rope", "tiny-alibi"])
def test_with_a_right_class_every_step_is_right_in_all_three_verdicts(driven, file, name, model):
    run = driven(file, name, 8, *GROWING, model=model)
    assert verdicts(run) == right(4)
    assert [v.stages.slots for v in run.verdicts] == [True] * 4


@pytest.mark.parametrize(("capacity", "sinks"), [(3, 0), (5, 2)])
def test_a_right_window_is_right_while_rows_leave_and_each_token_keeps_its_slot(
    driven, capacity, sinks
):
    acts = (Act("read", 2), ONE, ONE, Act("read", 2), ONE, ONE)
    run = driven("ring", "RingCache", capacity, *acts, sinks=sinks)
    assert verdicts(run) == right(6)
    slots: dict[int, int] = {}
    for record in run.trace.records:
        slots |= zip(record.token_index, record.slots.tolist(), strict=True)
        held = record.ledger.token_index.tolist()
        assert record.ledger.slot.tolist() == [slots[token] for token in held]
        assert record.live[0].token_index.tolist() == [
            token for _, token in sorted((slots[token], token) for token in held)
        ]


def test_the_numbers_are_those_of_our_own_engine_over_the_same_text(driven):
    run = driven("contiguous", "KVCache", 8, *GROWING)
    spec = run.trace.spec
    tokens = [token for record in run.trace.records for token in record.token_ids]
    forced = RunSpec(
        model=spec.model,
        prompt_ids=tuple(tokens[:3]),
        capacity=8,
        requests=spec.requests,
        force_ids=(tokens[3], tokens[6]),
    )
    ours = Session(forced, load_model(spec.model)).run()
    for mine, other in zip(run.trace.records, ours.records, strict=True):
        assert mine.token_ids == other.token_ids
        assert (mine.phase, mine.slots.tolist()) == (other.phase, other.slots.tolist())
        np.testing.assert_allclose(mine.logits, other.logits, atol=1e-3)
        for layer, (a, b) in enumerate(zip(mine.layers, other.layers, strict=True)):
            for name in ("mask", "view_slots", "view_token_index", "view_position_ids"):
                assert np.array_equal(getattr(a.plan, name), getattr(b.plan, name)), name
            assert np.array_equal(a.row_token, b.row_token)
            assert np.array_equal(a.row_version, b.row_version)
            for name in ("queries", "new_keys", "scores", "weights", "output", "residual"):
                np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-4)
            np.testing.assert_allclose(
                rows_as_read(run.trace.records, mine.step, layer),
                rows_as_read(ours.records, mine.step, layer),
                atol=1e-5,
            )


def test_the_interview_class_reads_what_was_never_written_and_counts_what_it_refuses(driven):
    run = driven("interview", "KVCache", 4, Act("read", 2), ONE, ONE, ONE)
    first, second, third, fourth = run.trace.records
    assert first.layers[0].row_token.tolist() == [0, 1, -1, -1]
    assert first.layers[0].row_version.tolist() == [0, 0, -1, -1]
    assert second.layers[0].row_token.tolist() == [0, 1, 2, -1]
    assert [third.outcome, fourth.outcome] == [Refused(1, 1)] * 2
    assert [r.reported_length for r in run.trace.records] == [2, 3, 4, 5]
    assert verdicts(run) == [
        ("right", "wrong", "wrong"),
        ("right", "wrong", "wrong"),
        ("wrong", "right", None),
        ("wrong", "right", None),
    ]
    assert run.verdicts[0].first_difference.field == "visible"
    assert run.driven.said[2] == "ValueError: cache full (interview.py, line 19, in append())"


def test_whose_row_is_where_is_found_from_the_rows_alone(driven):
    swapped = given("return self.k[: self.n]", "return self.k[: self.n][::-1]")
    swapped = swapped.replace("return self.v[: self.n]", "return self.v[: self.n][::-1]")
    run = driven(swapped, "KVCache", 8, Act("read", 3), ONE)
    assert run.trace.records[0].layers[0].row_token.tolist() == [2, 1, 0]
    assert run.trace.records[1].layers[0].plan.view_token_index.tolist() == [0, 1, 2, 3]
    assert run.trace.records[1].layers[0].row_token.tolist() == [3, 2, 1, 0]
    assert [v.mechanism for v in run.verdicts] == ["wrong", "wrong"]
    assert [v.policy for v in run.verdicts] == ["right", "right"]


def test_a_row_whose_value_is_another_tokens_is_no_tokens_row(driven):
    run = driven(given("self.v[self.n : self.n + new] = v", "pass"), "KVCache", 8, Act("read", 2))
    assert run.trace.records[0].layers[0].row_token.tolist() == [-1, -1]
    assert run.verdicts[0].first_difference.field == "values"


def test_tokens_are_taken_back_and_a_new_text_begins(driven):
    acts = (Act("read", 4), Act("truncate", 2), ONE, Act("reset"), Act("read", 2))
    run = driven("contiguous", "KVCache", 8, *acts)
    assert [(r.phase, r.ledger.seen) for r in run.trace.records] == [
        ("prefill", 4), ("rollback", 2), ("decode", 3), ("new_prompt", 2),
    ]  # fmt: skip
    assert [(v.policy, v.mechanism) for v in run.verdicts] == [("right", "right")] * 4


def test_a_tail_that_comes_back_after_truncating_is_seen(driven):
    wrong = given("        self.n = n\n", "        pass\n")
    run = driven(wrong, "KVCache", 8, Act("read", 3), Act("truncate", 1))
    assert run.verdicts[0].is_wrong is False
    assert (run.verdicts[1].policy, run.trace.records[1].reported_length) == ("wrong", 3)


def test_keys_and_values_of_unlike_numbers_are_a_probe_that_is_to_be_refused(driven):
    refused = driven("contiguous", "KVCache", 8, Act("read", 2), Act("probe", 2, 3), ONE)
    assert [v.policy for v in refused.verdicts] == ["right"] * 3
    assert refused.trace.records[1].n_probed == (2, 3)


def test_rows_without_a_token_are_read_and_stand_for_none(driven):
    run = driven("contiguous", "KVCache", 8, Act("read", 2), Act("probe", 2, 2), ONE)
    last = run.trace.records[2]
    assert last.layers[0].row_token.tolist() == [0, 1, -1, -1, 2]
    assert last.slots.tolist() == [4]
    assert [(v.policy, v.mechanism) for v in run.verdicts] == [("right", "right")] * 3


def test_a_mistake_in_the_code_is_no_refusal_and_ends_the_run_with_its_line(driven):
    wrong = given("        self.n += new\n", "        self.n += new // (self.n != 3)\n")
    run = driven(wrong, "KVCache", 8, Act("read", 3), ONE, ONE)
    assert len(run.trace.records) == 1
    assert "before step 1: its code fails: ZeroDivisionError" in run.driven.ended
    assert "given.py, line 27" in run.driven.ended


def test_where_nothing_can_be_read_at_all_there_is_no_run(driven):
    wrong = given("return self.v[: self.n]", "return self.v")
    with pytest.raises(CoreError, match="before step 0"):
        driven(wrong, "KVCache", 8, Act("read", 3))


def test_a_run_opens_from_its_file_as_it_was(driven, tmp_path):
    run = driven("interview", "KVCache", 4, Act("read", 2), ONE, ONE)
    save_run(tmp_path / "run.kvtrace", run)
    opened = open_trace(tmp_path / "run.kvtrace")
    assert opened.trace.digests() == run.trace.digests()
    assert [v.policy for v in opened.verdicts] == [v.policy for v in run.verdicts]


def test_an_append_that_is_accepted_where_it_fits_is_no_refusal(driven):
    run = driven("contiguous", "KVCache", 2, ONE, ONE, ONE)
    assert [r.outcome for r in run.trace.records] == [OK, OK, Refused(1, 0)]
    assert [v.policy for v in run.verdicts] == ["right"] * 3


@pytest.mark.parametrize(
    ("file", "name", "old", "new"),
    [
        ("contiguous", "KVCache", "return self.v[: self.n]", "return self.v[: self.n][::-1]"),
        ("contiguous", "KVCache", "self.k[self.n : self.n + new] = k", "self.k[: new] = k"),
        ("ring", "RingCache", "return list(range(self.seen))",
         "return list(range(self.seen))[::-1]"),
    ],
)  # fmt: skip
def test_the_run_of_a_finding_goes_wrong_where_the_model_test_does(
    subjects, tmp_path, file, name, old, new
):
    text = (CACHES / f"{file}.py").read_text("utf-8")
    assert text.count(old) == 1
    path = tmp_path / "theirs.py"
    path.write_text(text.replace(old, new), "utf-8")
    subject = subjects.turned_to(Source(path, name))
    plan = plan_for(subject, frozenset())
    found = model_test(subject, plan).finding
    run = judged_run(subject, plan, run_of_finding(found))
    wrong = [v for v in run.verdicts if v.logits is not None and v.logits.standing == "wrong"]
    assert wrong[0].step == found.step
    off = [
        layer
        for layer, told in enumerate(run.trace.records[found.step].layers)
        if not np.array_equal(told.row_token, told.plan.view_token_index)
    ]
    assert off[0] == found.layer


def test_a_class_of_one_head_size_is_given_rows_of_that_size(driven):
    fixed = given("def __init__(self, max_len, d_k, d_v):", "def __init__(self, max_len):")
    fixed = fixed.replace("(max_len, d_k)", "(max_len, 4)").replace(
        "(max_len, d_v)", "(max_len, 4)"
    )
    run = driven(fixed, "KVCache", 8, *GROWING)
    assert run.trace.model.config.d_head == 4
    assert verdicts(run) == right(4)


def test_a_row_whose_numbers_change_is_a_new_version_of_no_token(driven):
    changing = given(
        "        self.n += new\n", "        self.n += new\n        self.k[0] = self.n\n"
    )
    run = driven(changing, "KVCache", 8, Act("read", 2), ONE)
    layers = [record.layers[0] for record in run.trace.records]
    assert [layer.row_version.tolist() for layer in layers] == [[0, 0], [1, 0, 1]]
    assert [layer.row_token.tolist() for layer in layers] == [[-1, 1], [-1, 1, 2]]
    assert (rows_as_read(run.trace.records, 1, 0)[0, 0, 0] == 3).all()
