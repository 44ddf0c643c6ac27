"""Models of other people: right ones, wrong ones, and those that cannot be asked."""

import textwrap
from pathlib import Path

import pytest

from core.contract.model.check import check_model_of
from core.contract.model.report import as_json
from core.contract.model.sessions import Wish
from core.contract.model.subject import FellError, ModelSubject, Source
from core.contract.subject import NotDrivableError
from tests.helpers.models.expected import FAULTS, ONLY_CHUNKS

MODELS = Path(__file__).parents[3] / "helpers" / "models"
SHORT = Wish(n_steps=4)


@pytest.fixture(scope="module")
def subject():
    """One process for all models that do not fall."""
    with ModelSubject(Source(MODELS / "nano.py", "right")) as found:
        yield found


def report_of(subject, file, name, wish=SHORT):
    subject.turn_to(Source(MODELS / file, name))
    return check_model_of(subject, wish)


def evidence_of(report):
    return "\n".join(words for one in report.findings for words in one.evidence)


RIGHT = [
    ("nano.py", "right"),
    *(("faults.py", f"right{kind}") for kind in ("", "_rope", "_window", "_buffer")),
    *(("odd.py", name) for name in ("Prints", "LastOnly", "OneAtATime", "StartPos")),
    *(("peers.py", f"{name}_0_float32") for name in ("gpt2_eager", "mistral_sdpa", "llama_sdpa")),
    *(("peers.py", f"{name}_1_float32") for name in ("qwen2_eager", "mistral_eager")),
]


@pytest.mark.parametrize(("file", "name"), RIGHT, ids=[name for _, name in RIGHT])
def test_a_right_model_has_no_finding(subject, file, name):
    report = report_of(subject, file, name)
    assert report.findings == ()
    assert {one.standing for one in report.outcomes} == {"right"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_at_its_first_wrong_call(subject, fault):
    report = report_of(subject, "faults.py", f"make_{fault}")
    found = [(one.preset_like or one.mechanism, one.call) for one in report.findings]
    assert found == [FAULTS[fault]]
    assert report.outcomes[0].first_wrong == FAULTS[fault][1]
    assert report.findings[0].basis == "observed"


@pytest.mark.parametrize("fault", ONLY_CHUNKS)
def test_a_fault_of_chunks_is_named_though_single_tokens_are_right(subject, fault):
    report = report_of(subject, "faults.py", f"make_{fault}")
    assert [one.preset_like for one in report.findings] == [ONLY_CHUNKS[fault]]
    assert report.outcomes[0].standing == "right"


def test_a_fault_that_16_bits_could_excuse_is_found_in_float32(subject):
    report = report_of(subject, "faults.py", "slight_in_16_bits")
    assert [one.preset_like for one in report.findings] == ["evict-off-by-one"]
    assert any(note.startswith("in bfloat16 itself nothing is wrong") for note in report.notes)


def test_restarted_positions_are_told_by_their_numbers(subject):
    report = report_of(subject, "nano.py", "pos_restart")
    assert [one.preset_like for one in report.findings] == ["pos-restart"]
    assert "looked up in wpe.weight are [0], must be [5]" in evidence_of(report)


def test_a_mask_row_is_told_by_the_keys_that_it_shows(subject):
    report = report_of(subject, "nano.py", "mask_top_left")
    assert [one.preset_like for one in report.findings] == ["mask-top-left"]
    assert "sees 1 of 6 keys: 0; blind to 1-5" in evidence_of(report)


def test_two_faults_in_one_model_are_both_named(subject):
    report = report_of(subject, "nano.py", "both")
    assert [one.preset_like for one in report.findings] == ["pos-restart", "mask-top-left"]


def test_both_are_named_around_a_model_of_a_library(subject):
    report = report_of(subject, "wrong_peers.py", "Wrapped")
    assert [one.preset_like for one in report.findings] == ["pos-restart", "mask-top-left"]
    assert {one.basis for one in report.findings} == {"observed"}


def test_a_causal_flag_on_unequal_lengths_is_told(subject):
    report = report_of(subject, "faults.py", "make_MaskCausalFlag")
    assert "is_causal=True with 1 query and 6 keys" in evidence_of(report)


def test_weight_on_rows_never_written_is_told(subject):
    report = report_of(subject, "faults.py", "make_MaskUnwritten")
    assert "% of its weight is on rows never written: 5-31" in evidence_of(report)


def test_compiled_code_is_judged_by_probes_and_the_report_says_so(subject):
    report = report_of(subject, "odd.py", "Compiled")
    (found,) = report.findings
    assert (found.basis, found.preset_like) == ("black box", "mask-top-left")
    assert all(words.startswith("black box: ") for words in found.evidence)
    assert "the cached ones move for 0, not for 1-4" in evidence_of(report)
    assert "one alone gives all of this: as if the causal mask were aligned top-left" in (
        evidence_of(report)
    )


def test_what_one_text_leaves_for_the_next_is_found(subject):
    (found,) = report_of(subject, "odd.py", "stale").findings
    assert found.mechanism == "a second text sees what the first one left in the model"


def test_texts_that_touch_each_other_are_found(subject):
    (found,) = report_of(subject, "odd.py", "Batch").findings
    assert found.mechanism == "sequences of a batch touch each other"


def test_a_model_that_looks_ahead_without_a_cache_is_told_so(subject):
    (found,) = report_of(subject, "odd.py", "NotCausal").findings
    assert found.mechanism == "without a cache, later tokens change earlier logits"


def test_a_model_in_which_a_fault_could_hide_is_noted(subject):
    notes = report_of(subject, "odd.py", "Deaf").notes
    assert any("the logits hardly hang on earlier tokens" in note for note in notes)
    assert not any("hardly" in note for note in report_of(subject, "nano.py", "right").notes)


def test_logits_that_are_no_numbers_in_both_ways_are_noted(subject):
    report = report_of(subject, "odd.py", "NanHead")
    assert report.findings == ()
    assert "logits that are no numbers in both ways: token 7" in report.notes


def test_what_is_not_heard_of_one_reading_is_not_taken_for_another(subject):
    subject.turn_to(Source(MODELS / "nano.py", "right"))
    text = [[1, 2, 3, 4, 5, 6, 7, 8]]
    calls = list(subject.decode(text, (5, 1, 1, 1)))
    next(subject.decode(text, (2, 2, 2, 2)))
    assert list(subject.decode(text, (5, 1, 1, 1))) == calls


def test_a_call_that_raises_is_a_finding(subject):
    (found,) = report_of(subject, "odd.py", "Raises").findings
    assert (found.mechanism, found.call) == ("a cached call fails", 1)
    assert "IndexError: index 5 is out of range" in evidence_of(
        report_of(subject, "odd.py", "Raises")
    )


def test_refused_chunks_are_a_note(subject):
    notes = report_of(subject, "odd.py", "OneAtATime").notes
    assert any("NotImplementedError: one token at a time" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ZeroHead", "every logit is 0"),
        ("AllNan", "no logit is a number"),
        ("Random", "two forwards without a cache over the same text differ"),
        ("NoCache", "takes nothing that it returned before"),
        ("number", "gave int; a torch module is needed"),
        ("missing", "has no 'missing'"),
    ],
)
def test_a_model_that_cannot_be_asked_is_told_by_name(subject, name, message):
    with pytest.raises(NotDrivableError, match=message):
        report_of(subject, "odd.py", name)


def test_a_token_that_the_model_does_not_know_is_refused(subject):
    with pytest.raises(NotDrivableError, match="names token 61, and the model knows 0 to 60"):
        report_of(subject, "nano.py", "right", Wish(prompt=(1, 61)))


def test_the_prompt_that_was_given_is_read(subject):
    report = report_of(subject, "nano.py", "right", Wish(prompt=(3, 1, 4), n_steps=2))
    assert report.ids[:3] == (3, 1, 4)
    assert len(report.ids) == 5


def test_a_call_that_ends_the_interpreter_is_a_finding():
    with ModelSubject(Source(MODELS / "odd.py", "Dies")) as dying:
        report = check_model_of(dying, SHORT)
    assert "ended the interpreter (status 7, a cached call with 1 token" in evidence_of(report)


def test_a_call_that_hangs_is_a_finding():
    with ModelSubject(Source(MODELS / "odd.py", "Hangs"), limit_s=3) as hanging:
        report = check_model_of(hanging, SHORT)
    assert "gave no answer within 3 s" in evidence_of(report)


def test_a_cached_call_gets_less_time_where_forwards_were_quick(monkeypatch):
    monkeypatch.setattr("core.contract.model.subject.SLACK_S", 2.0)
    with ModelSubject(Source(MODELS / "odd.py", "Hangs")) as hanging:
        report = check_model_of(hanging, SHORT)
    said = evidence_of(report)
    assert "gave no answer within 2." in said
    assert "the longest before it took 0." in said


def test_a_slow_cached_call_is_no_hang_where_forwards_were_slow_as_well(monkeypatch):
    monkeypatch.setattr("core.contract.model.subject.SLACK_S", 0.0)
    with ModelSubject(Source(MODELS / "odd.py", "Slow")) as slow:
        assert check_model_of(slow, SHORT).findings == ()


def test_a_file_that_ends_the_interpreter_cannot_be_asked(tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text("import os\nprint('bye')\nos._exit(3)\n", encoding="utf-8")
    with pytest.raises(FellError, match=r"\(status 3, running .*theirs.py\): bye"):
        ModelSubject(Source(path, "make_model"))


def test_the_names_of_our_own_packages_are_free_for_the_users_modules(subject, tmp_path):
    (tmp_path / "core.py").write_text("SIZE = 4\n", encoding="utf-8")
    text = (MODELS / "nano.py").read_text("utf-8")
    path = tmp_path / "theirs.py"
    path.write_text(f"import core\nassert core.SIZE == 4\n{text}", encoding="utf-8")
    subject.turn_to(Source(path, "right"))
    assert check_model_of(subject, SHORT).findings == ()


ADAPTER = """
    from kvscope_check import ModelAdapter

    class Adapter(ModelAdapter):
        def uncached(self, model, ids):
            return model.run(ids, [])[0]

        def cached(self, model, ids, state, past):
            return model.run(ids, state or [])
"""
ODD = """
    import torch
    from torch import nn

    class Foreign(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(1)
            self.embedding, self.head = nn.Embedding(61, 8), nn.Linear(8, 61)

        def run(self, ids, before):
            total = before[0] if before else 0.0
            sums = self.embedding(ids).cumsum(1) + (WRONG * total)
            return self.head(sums), [sums[:, -1:]]
"""


@pytest.mark.parametrize(("factor", "n"), [("1.0", 0), ("0.5", 1)], ids=["right", "wrong"])
def test_a_model_of_another_shape_is_driven_by_an_adapter(tmp_path, subject, factor, n):
    adapter, model = tmp_path / "adapter.py", tmp_path / "foreign.py"
    adapter.write_text(textwrap.dedent(ADAPTER), encoding="utf-8")
    model.write_text(textwrap.dedent(ODD).replace("WRONG", factor), encoding="utf-8")
    subject.turn_to(Source(model, "Foreign", adapter))
    assert len(check_model_of(subject, SHORT).findings) == n


def test_the_report_says_what_is_not_covered(subject):
    told = as_json(report_of(subject, "nano.py", "both"), has_reference=False)
    assert told["rules"] == []
    assert {one["rule"] for one in told["findings"]} == {None}
    assert told["findings"][0]["where"] == {"call": 1, "layer": None}
    assert "with and without a cache" in told["not_covered"]
    assert as_json(report_of(subject, "nano.py", "both"), has_reference=True)["not_covered"] is None


JOINING = """
    import math
    import torch
    from torch import nn

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.tokens, self.positions = nn.Embedding(50, 16), nn.Embedding(N_POSITIONS, 16)
            self.qkv, self.head = nn.Linear(16, 48), nn.Linear(16, 50)

        def forward(self, ids, past=None):
            T, P = ids.shape[1], 0 if past is None else past[0].shape[1]
            CHECK
            x = self.tokens(ids) + self.positions(torch.arange(P, P + T))
            q, k, v = self.qkv(x).split(16, -1)
            if past is not None:
                k, v = JOIN_K, JOIN_V
            S = k.shape[1]
            open_ = torch.ones(T, S, dtype=torch.bool).tril(S - T)
            scores = (q @ k.transpose(-2, -1) / 4).masked_fill(~open_, -math.inf)
            return self.head(x + scores.softmax(-1) @ v), (RETURNED)

    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.vocab_size = GPT(), 50

        def forward(self, ids, past=None):
            with torch._C.DisableTorchFunction():
                return self.inner(ids, past)

    def compiled():
        return torch.compile(GPT(), backend="eager")
"""
BEHIND = {"JOIN_K": "torch.cat([past[0], k], 1)", "JOIN_V": "torch.cat([past[1], v], 1)"}
BEFORE = {"JOIN_K": "torch.cat([k, past[0]], 1)", "JOIN_V": "torch.cat([v, past[1]], 1)"}
USUAL = {**BEHIND, "N_POSITIONS": "40", "CHECK": "pass", "RETURNED": "k, v"}


def written(folder, **changes):
    text = textwrap.dedent(JOINING)
    for old, new in {**USUAL, **changes}.items():
        text = text.replace(old, new)
    path = folder / "theirs.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["GPT", "Hidden", "compiled"])
def test_a_right_model_in_another_style_has_no_finding(subject, tmp_path, name):
    report = report_of(subject, written(tmp_path), name)
    assert (report.findings, report.notes[0].split()[0]) == ((), "thresholds:")


def test_new_rows_before_the_earlier_ones_are_called_so(subject, tmp_path):
    (found,) = report_of(subject, written(tmp_path, **BEFORE), "GPT").findings
    assert found.mechanism.startswith("new rows are put before the earlier ones")
    assert found.preset_like is None
    assert "of tokens [5, 6, 0, 1, 2, 3, 4], in this order" in found.evidence[0]
    assert "the query at token 5 sees tokens 0-3, 5-6, must see 0-5" in found.evidence[0]


def test_of_hidden_code_is_said_what_its_logits_show_and_no_more(subject, tmp_path):
    report = report_of(subject, written(tmp_path, **BEFORE), "Hidden")
    (found,) = report.findings
    assert found.mechanism.startswith("new rows are put before the earlier ones")
    assert {found.basis} == {"black box"}
    assert "changing later tokens of the call, 6, moves the cached logits of its first one" in (
        evidence_of(report)
    )
    keys = written(tmp_path, JOIN_K=BEFORE["JOIN_K"])
    (found,) = report_of(subject, keys, "Hidden").findings
    assert found.mechanism == "logits hang on how earlier tokens were split into calls"
    assert found.preset_like is None


def test_rows_that_are_dropped_are_not_taken_for_positions_that_are_remembered(subject, tmp_path):
    path = written(tmp_path, RETURNED="(k, v) if past is None else (k[:, 1:], v[:, 1:])")
    names = [one.preset_like or one.mechanism for one in report_of(subject, path, "GPT").findings]
    assert names == ["pos-retained-rows", "rows that must be read are missing"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"N_POSITIONS": "7"}, "2 of 20 steps decoded: a forward of more than 7 tokens raised "
                               "IndexError: index out of range in self (theirs.py, line 16, "),
        ({"CHECK": "if past is not None and P + T > 8: raise ValueError('full')"},
         "3 of 20 steps decoded: a cached call beyond 8 tokens is refused (ValueError: full "),
    ],
    ids=["positions end", "the cache is full"],
)  # fmt: skip
def test_fewer_steps_are_decoded_where_there_is_no_room_and_the_report_says_why(
    subject, tmp_path, changes, said
):
    report = report_of(subject, written(tmp_path, **changes), "GPT", Wish(n_steps=20))
    assert report.findings == ()
    assert report.notes[0].startswith(said)


def test_a_prompt_that_leaves_no_room_is_told_with_both_numbers(subject, tmp_path):
    path = written(tmp_path, N_POSITIONS="4")
    with pytest.raises(NotDrivableError, match=r"prompt of 6 tokens .* more than 4 tokens raised"):
        report_of(subject, path, "GPT", Wish(prompt=(1, 2, 3, 4, 5, 6)))


def test_a_call_that_fails_at_another_token_each_time_is_no_full_cache(subject, tmp_path):
    path = written(tmp_path, CHECK="assert past is None or T == P, 'shapes'")
    (found,) = report_of(subject, path, "GPT").findings
    assert found.mechanism == "a cached call fails"


def test_a_second_finding_does_not_repeat_what_the_first_one_says_of_the_logits(subject):
    first, second = report_of(subject, "nano.py", "both").findings
    assert sum(words.startswith("black box") for words in first.evidence) == 2
    assert not any(words.startswith("black box") for words in second.evidence)


def test_a_vocabulary_that_is_too_large_is_told_with_both_numbers(subject):
    with pytest.raises(NotDrivableError, match=(
        r"^--vocab says 5000 token ids, and GPT says that it knows 61: token id \d+ raised "
        r"IndexError: index out of range in self .*; give --vocab 61$"
    )):  # fmt: skip
        report_of(subject, "nano.py", "right", Wish(vocabulary=5000))


def test_a_model_that_says_too_large_a_vocabulary_is_told_by_its_number(subject, tmp_path):
    path = written(tmp_path)
    text = path.read_text("utf-8")
    wrong = text.replace("torch.manual_seed(0)", "self.vocab_size = 5000")
    path.write_text(wrong, encoding="utf-8")
    with pytest.raises(NotDrivableError, match=r"^GPT says that it knows 5000 token ids, and"):
        report_of(subject, path, "GPT")
