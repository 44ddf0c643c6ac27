import io
import itertools
import json
import re
import signal
from dataclasses import replace

import pytest

from app import cli
from core.faults.catalog import COMBINATIONS, FAULTS, find_faults
from core.model.names import tiny_configs
from core.model.saving import save_model
from core.model.tokenizer import byte_tokenizer_json
from core.model.weights import random_weights
from core.session import Session
from core.spec import FaultUse, RunSpec
from core.trace_json import from_json
from core.tracefile import open_trace
from tests.helpers.runs import SCHEMES, judged, tiny

TINY = ("run", "--model", "tiny-learned")
SEVEN = ("--prompt-ids", "84,104,101,32,107,105,116")


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch):
    """However slow the machine is, a run does not become one that reports its progress."""
    monkeypatch.setattr("app.cli_progress.monotonic", lambda: 0.0)


@pytest.fixture
def run_json(capsys):
    """Runs the command with --json; its status and its lines."""

    def run(*arguments: str) -> tuple[int, list[dict]]:
        status = cli.main([*arguments, "--json"])
        captured = capsys.readouterr()
        assert captured.err == ""
        return status, [json.loads(line) for line in captured.out.splitlines()]

    return run


@pytest.fixture
def run_text(capsys):
    """Runs the command; its status and what it prints."""

    def run(*arguments: str) -> tuple[int, str]:
        status = cli.main(arguments)
        captured = capsys.readouterr()
        assert captured.err == ""
        return status, captured.out

    return run


def test_json_lines_are_one_for_the_run_one_per_step_and_one_for_the_end(run_json):
    status, lines = run_json(*TINY, *SEVEN, "--steps", "3", "--chunk", "4")
    assert status == 0
    assert [line["kind"] for line in lines] == ["run", *["step"] * 5, "end"]
    assert [line["step"] for line in lines[1:-1]] == [0, 1, 2, 3, 4]
    assert [line["phase"] for line in lines[1:-1]] == ["prefill"] * 2 + ["decode"] * 3


def spec_in(lines: list[dict]) -> RunSpec:
    return from_json(RunSpec, lines[0]["spec"], "spec")


def test_defaults_are_those_of_the_manual(run_json):
    spec = spec_in(run_json(*TINY, "--prompt", "hi")[1])
    assert spec == RunSpec("tiny-learned", (104, 105), steps=24, policy="refuse", capacity=128)
    assert (spec.temperature, spec.seed, spec.device, spec.dtype) == (0, 0, "cpu", "float32")


def test_the_default_capacity_is_not_above_the_limit_of_the_model(tmp_path, run_json):
    config = replace(tiny_configs()["tiny-learned"], n_ctx=64)
    save_model(tmp_path, random_weights(config, 0), byte_tokenizer_json())
    _, lines = run_json("run", "--model", str(tmp_path), "--prompt", "hi", "--steps", "1")
    assert spec_in(lines).capacity == 64
    assert lines[0]["model"]["path"] == str(tmp_path)


def test_every_option_reaches_the_spec(run_json):
    options = (
        "--steps 2 --policy sinks --capacity 9 --sinks 2 --chunk 3 --force-ids 4,5 "
        "--temperature 0.5 --top-k 7 --top-p 0.9 --seed 11 --dtype float64 --device cpu "
        "--reassign-positions --fault pos-restart@1-2 --fault store-row-zero@1:layers=0,2"
    )
    _, lines = run_json("run", "--model", "tiny-rope", *SEVEN, *options.split())
    assert spec_in(lines) == RunSpec(
        model="tiny-rope",
        prompt_ids=(84, 104, 101, 32, 107, 105, 116),
        steps=2,
        policy="sinks",
        capacity=9,
        sinks=2,
        reassign_positions=True,
        chunk=3,
        faults=(
            FaultUse("pos-restart", 1, 2),
            FaultUse("store-row-zero", 1, None, (0, 2)),
        ),
        force_ids=(4, 5),
        temperature=0.5,
        top_k=7,
        top_p=0.9,
        seed=11,
        dtype="float64",
    )


def test_sinks_are_four_where_the_policy_is_sinks(run_json):
    _, lines = run_json(*TINY, *SEVEN, "--policy", "sinks", "--capacity", "9", "--steps", "0")
    assert spec_in(lines).sinks == 4


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_lines_are_those_of_the_engine_and_its_judge(scheme, run_json):
    spec = RunSpec(f"tiny-{scheme}", (1, 2, 3), steps=40, capacity=128)
    expected = judged(spec)
    _, lines = run_json(
        "run", "--model", f"tiny-{scheme}", "--prompt-ids", "1,2,3", "--steps", "40"
    )
    steps = lines[1:-1]
    assert [line["next"]["token_id"] for line in steps] == [
        record.next_token for record in expected.trace.records
    ]
    assert [line["verdict"]["logits"] for line in steps] == expected.logits
    errors = [verdict.logits.max_abs_error for verdict in expected.verdicts if verdict.logits]
    told = [line["reference"]["max_abs_logit_error"] for line in steps]
    assert told == pytest.approx(errors, rel=1e-3)


def test_sampling_repeats_with_its_seed_and_differs_with_another(run_json):
    def text(seed: str) -> str:
        options = ("--temperature", "2", "--seed", seed, "--steps", "9")
        return run_json(*TINY, *SEVEN, *options)[1][-1]["text"]

    assert text("1") == text("1") != text("2")


# Faults and their scenarios


@pytest.mark.parametrize("name", [*(fault.id for fault in FAULTS), *COMBINATIONS])
def test_a_fault_without_a_prompt_loads_its_own_scenario(name, run_json):
    _, lines = run_json("run", "--fault", name, "--model", "tiny-learned", "--capacity", "64")
    scenario = find_faults(name)[0].shows_in
    shown = scenario.spec(tiny("learned").tokenizer.encode)
    spec = spec_in(lines)
    assert (spec.prompt_ids, spec.requests, spec.policy) == (
        shown.prompt_ids,
        shown.requests,
        shown.policy,
    )
    assert spec.steps == shown.steps
    assert (spec.model, spec.capacity, spec.faults) == ("tiny-learned", 64, (FaultUse(name),))


def test_of_several_faults_the_first_ones_scenario_is_the_base(run_json):
    faults = ("--fault", "cap-early", "--fault", "pos-restart")
    _, lines = run_json("run", *faults, "--model", "tiny-learned", "--capacity", "64")
    assert spec_in(lines).steps == find_faults("cap-early")[0].shows_in.steps


def test_steps_that_are_asked_for_replace_the_requests_of_a_scenario(run_json):
    options = ("--model", "tiny-learned", "--capacity", "64", "--steps", "2")
    spec = spec_in(run_json("run", "--fault", "store-uneven", *options)[1])
    assert (spec.requests, spec.steps) == (None, 2)


def test_a_fault_with_a_prompt_runs_that_prompt(run_json):
    _, lines = run_json(*TINY, *SEVEN, "--fault", "pos-restart", "--steps", "1")
    assert spec_in(lines).capacity == 128
    assert lines[0]["prompt_ids"] == [84, 104, 101, 32, 107, 105, 116]


# Status


def test_check_is_1_if_anything_is_wrong_and_0_if_nothing_is(run_json):
    shown = (*TINY, *SEVEN, "--steps", "2")
    assert run_json(*shown, "--check")[0] == 0
    assert run_json(*shown, "--fault", "pos-restart", "--check")[0] == 1
    assert run_json(*shown, "--fault", "pos-restart")[0] == 0


def test_check_is_1_for_a_false_refusal_with_right_logits(run_json):
    options = ("--capacity", "8", "--fault", "cap-early", "--check")
    status, lines = run_json(*TINY, *SEVEN, *options)
    assert (status, lines[-1]["first_wrong_logits"]) == (1, None)


def test_a_rightful_refusal_is_nothing_wrong(run_json):
    status, lines = run_json(*TINY, *SEVEN, "--capacity", "8", "--check")
    assert (status, lines[-1]["reason"]) == (0, "refused")


@pytest.fixture
def ctrl_c_at(monkeypatch):
    """Presses Ctrl-C while a certain step is being computed."""

    def press_at(step: int) -> None:
        advance = Session.advance

        def pressed(session: Session):
            if len(session.trace.records) == step:
                signal.raise_signal(signal.SIGINT)
            return advance(session)

        monkeypatch.setattr(Session, "advance", pressed)

    return press_at


def test_ctrl_c_ends_the_run_after_the_step_with_all_its_lines(run_json, ctrl_c_at):
    ctrl_c_at(3)
    status, lines = run_json(*TINY, *SEVEN, "--check")
    assert status == 130
    assert [line["kind"] for line in lines] == ["run", *["step"] * 4, "end"]
    assert lines[-1]["reason"] == "cancelled"


def test_ctrl_c_leaves_the_usual_handler_in_place(run_json, ctrl_c_at):
    before = signal.getsignal(signal.SIGINT)
    ctrl_c_at(1)
    run_json(*TINY, *SEVEN)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupted_run_still_writes_its_trace(run_json, ctrl_c_at, tmp_path):
    ctrl_c_at(2)
    path = tmp_path / "run.kvtrace"
    status, _ = run_json(*TINY, *SEVEN, "--trace", str(path))
    trace = open_trace(path).trace
    assert trace is not None
    assert (status, trace.end, len(trace.records)) == (130, "cancelled", 3)


# The trace


def test_the_trace_is_full_and_holds_the_verdicts(run_json, tmp_path):
    path = tmp_path / "run.kvtrace"
    options = ("--fault", "store-row-zero", "--steps", "3", "--trace", str(path))
    _, lines = run_json(*TINY, *SEVEN, *options)
    opened = open_trace(path)
    assert opened.trace is not None
    again = judged(spec_in(lines))
    assert opened.trace.digests() == again.trace.digests()
    assert [verdict.mechanism for verdict in opened.verdicts] == again.mechanism


# The account


def test_the_account_tells_text_steps_verdicts_and_thresholds(run_text):
    status, text = run_text(*TINY, "--prompt", "Ida has", "--steps", "2", "--force-ids", "32,97")
    assert status == 0
    assert 'prompt     "Ida has" (7 tokens)' in text
    assert 'then read  " a" (2 tokens)' in text
    assert len(re.findall(r"^\d+ +(prefill|decode) ", text, re.MULTILINE)) == 3
    assert "Nothing is wrong" in text


def test_the_account_tells_the_least_and_the_largest_of_limits_that_differ_by_the_step(run_text):
    _, text = run_text(*TINY, "--prompt", "Ida has", "--steps", "2", "--force-ids", "32,97")
    spec = RunSpec("tiny-learned", tuple(b"Ida has"), steps=2, capacity=128, force_ids=(32, 97))
    found = [verdict.logits for verdict in judged(spec).verdicts if verdict.logits]
    bands, limits = ([each.band for each in found], [each.wrong_above for each in found])
    assert (
        f"up to an error of {min(bands):.1e} to {max(bands):.1e}, as wrong above {min(limits):.1e} "
        f"to {max(limits):.1e}, as rounding between (each step has its own limits)."
    ) in text


def test_limits_that_are_one_are_told_once(run_text):
    _, text = run_text(*TINY, "--prompt", "Ida has", "--steps", "0")
    assert re.search(r"up to an error of \S+, as wrong above \S+, as rounding between\.", text)


def test_the_account_names_the_first_wrong_step_in_words(run_text):
    _, text = run_text(*TINY, *SEVEN, "--fault", "pos-restart", "--steps", "2")
    assert "fault      pos-restart: Position ids start again at 0" in text
    assert "First wrong step: 1 (decode). Wrong there: policy, logits." in text
    assert "What differs first: position ids: token 7 was given position id 0, expected 7." in text
    assert "Logits first wrong: step 1, by " in text
    assert "kvscope FILE.kvtrace --step 1 shows them in the window." in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), None),
        (("--top-k", "5", "--seed", "3"), "above 0, top_k 5 and seed 3 change nothing"),
        (("--top-k", "3"), "above 0, top_k 3 changes nothing"),
        (("--temperature", "0.5", "--top-p", "0.9"), "temperature 0.5, top_p 0.9"),
    ],
    ids=["greedy", "no effect", "one of no effect", "sampled"],
)
def test_the_account_says_how_tokens_are_chosen(run_text, options, said):
    _, text = run_text(*TINY, "--prompt", "hi", "--steps", "1", *options)
    (line,) = [line for line in text.splitlines() if line.startswith("sampling")] or [None]
    assert (line is None) if said is None else (said in line)


def test_a_fault_fills_the_cache_of_a_model_with_longer_prompts_too(run_json):
    _, lines = run_json("run", "--fault", "cap-early", "--model", "tiny-rope")
    assert lines[-1]["first_wrong_step"] == 5


def test_the_account_names_the_file_that_was_written(run_text, tmp_path):
    path = tmp_path / "run.kvtrace"
    _, text = run_text(*TINY, *SEVEN, "--steps", "1", "--trace", str(path))
    assert f"kvscope {path} shows every number in the window." in text


def test_the_account_names_the_mechanism_with_what_speaks_for_it(run_text):
    _, told = run_text("run", "--fault", "pos-restart")
    assert (
        "Diagnosis: position ids start again at 0: the past is not added (like pos-restart).\n"
        "  - step 1: query at token 7 was given position id 0; expected 7; every decode step since "
        "step 1\n"
    ) in told
    assert "Diagnosis" not in run_text("run", "--fault", "pos-restart", "--steps", "0")[1]


def test_the_account_says_where_a_row_is_wrong(run_text):
    _, text = run_text(*TINY, *SEVEN, "--fault", "store-row-zero@2-3:layers=2", "--steps", "4")
    assert "from step 2 to 3, in layers 2" in text
    assert "keys, layer 2, head 0: slot 0 stands for token 0 and holds the row of token 8" in text


def test_the_account_says_that_the_cache_refused_and_with_which_numbers(run_text):
    _, text = run_text(*TINY, *SEVEN, "--capacity", "8")
    assert "Ended after 3 steps: the cache refused (refused: needs 1, 0 free of 8)." in text


def test_of_several_beams_the_account_names_the_one_that_each_step_and_the_text_are_of(run_text):
    _, text = run_text("run", "--fault", "beam-no-reorder")
    asked = re.findall(r"^\d+ +((?:prefill|decode|reorder)(?:, beam \d)?)", text, re.MULTILINE)
    decodes = ["decode, beam 0", "decode, beam 1"]
    assert asked == ["prefill, beam 0", "prefill, beam 1", *decodes, "reorder", *decodes, *decodes]
    assert "(3 tokens; beam 1)" in text


def test_the_account_of_a_long_run_leaves_right_steps_out(run_text):
    _, text = run_text(*TINY, *SEVEN, "--steps", "90", "--fault", "store-row-zero@50")
    shown = [int(step) for step in re.findall(r"^(\d+) +(?:prefill|decode) ", text, re.MULTILINE)]
    assert shown == [0, 1, 2, 3, 48, 49, 50, 51, 52, 87, 88, 89, 90]
    assert "… 44 steps left out" in text


def test_a_long_run_says_on_standard_error_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr("app.cli_progress.monotonic", itertools.count(0, 5).__next__)
    cli.main([*TINY, *SEVEN, "--steps", "6", "--json"])
    captured = capsys.readouterr()
    assert captured.err.splitlines()[0] == "step 1 of 7"
    assert all(json.loads(line) for line in captured.out.splitlines())


def test_the_account_can_be_printed_where_letters_are_few(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", out)
    assert cli.main([*TINY, "--prompt", "één", "--steps", "1"]) == 0
    assert b'"\\xe9\\xe9n" (5 tokens)' in out.buffer.getvalue()


# How rows are kept


def test_narrower_rows_and_a_buffer_that_grows_can_be_asked_for(run_json):
    plain = ("run", "--model", "tiny-rope", "--prompt", "the kit", "--steps", "3", "--check")
    _, lines = run_json(*plain, "--kv-dtype", "int8", "--growable")
    assert (spec_in(lines).kv_dtype, spec_in(lines).growable) == ("int8", True)
    _, lines = run_json(*plain)
    assert (spec_in(lines).kv_dtype, spec_in(lines).growable) == (None, False)


@pytest.mark.parametrize("poison", [(), ("--poison",)], ids=["plain", "poisoned"])
def test_an_end_that_comes_of_no_numbers_is_told_as_such(run_text, run_json, poison):
    arguments = ("run", "--fault", "evict-never", "--steps", "20", *poison)
    text = run_text(*arguments)[1]
    assert "the model ended the text" not in text
    assert (
        "Ended after 17 steps: the logits of the last step are no numbers, and what comes out as "
        "the best token ends a text.\n"
    ) in text
    assert run_json(*arguments)[1][-1]["reason"] == "end_of_text"


def test_logits_that_are_first_wrong_by_being_no_numbers_are_told_so(run_text):
    text = run_text("run", "--fault", "mask-nan-row")[1]
    assert "Logits first wrong: step 0: they are no numbers.\n" in text
    assert "nan nats" not in text


def test_a_fault_that_shows_nothing_says_why_and_what_shows_it(run_text):
    text = run_text("run", "--fault", "pos-memo", "--steps", "1")[1]
    assert (
        "pos-memo is on, and nothing is wrong in its 2 steps: it takes two decoded tokens, and "
        "there was one.\n"
    ) in text
    assert "kvscope run --fault pos-memo alone is the case that shows it.\n" in text


def test_a_run_without_a_fault_says_nothing_of_faults_that_are_on(run_text):
    assert " is on, and nothing is wrong" not in run_text(*TINY, *SEVEN, "--steps", "2")[1]
