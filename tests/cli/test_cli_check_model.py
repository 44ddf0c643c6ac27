"""`kvscope check --kind model`: what it prints, and its exit status."""

import argparse
import json
from pathlib import Path

import pytest

from app.cli_check_model import add_model_options, check_model
from core.errors import CoreError
from core.model.loading import load_model, save_model

MODELS = Path(__file__).parents[1] / "helpers" / "models"


def asked(*argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--adapter", type=Path)
    parser.add_argument("--json", action="store_true")
    add_model_options(parser)
    return parser.parse_args([*map(str, argv), "--steps", "3"])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint") / "model"
    loaded = load_model("tiny-rope")
    save_model(folder, loaded.weights, loaded.tokenizer.json_text)
    return folder


def test_a_right_model_gives_status_0_and_says_what_is_not_covered(capsys):
    assert check_model(asked(f"{MODELS / 'nano.py'}:right")) == 0
    out = capsys.readouterr().out
    assert out.endswith("no finding\n")
    assert "not covered: a fault that the model has with and without a cache" in out
    assert "thresholds: right up to" in out


def test_a_wrong_model_gives_status_1_and_the_mechanism(capsys):
    assert check_model(asked(f"{MODELS / 'nano.py'}:pos_restart")) == 1
    out = capsys.readouterr().out
    assert "WRONG     prefill of 5, then single tokens" in out
    assert "position ids start again at 0: the past is not added (like pos-restart): call 1" in out
    assert "observed: call with 1 token after 5: position ids looked up in wpe.weight" in out


def test_the_json_report_is_one_line(capsys):
    assert check_model(asked(f"{MODELS / 'nano.py'}:mask_top_left", "--json")) == 1
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert told["rules"] == []
    assert told["findings"][0]["like"] == "mask-top-left"
    assert told["sessions"][0]["first_wrong"] == 1


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nano.py"], "names no model: write FILE.py:make_model"),
        (["no.py:make"], r"no\.py: there is no such file"),
        ([f"{MODELS / 'nano.py'}:right", "--vocab", "0"], "--vocab 0: give 1 or more"),
        ([f"{MODELS / 'nano.py'}:right", "--reference", "nowhere"], "there is no such folder"),
    ],
)
def test_unusable_input_is_one_line(argv, message):
    with pytest.raises(CoreError, match=message) as caught:
        check_model(asked(*argv))
    assert "\n" not in str(caught.value)


def test_token_ids_that_are_none_are_refused(capsys):
    with pytest.raises(SystemExit):
        asked("x.py:y", "--prompt-ids", "1,b")
    assert "'1,b' is no list of token ids; write 1,2,3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "status"), [("right", 0), ("swapped_heads", 1)], ids=["equal", "heads-swapped"]
)
def test_a_checkpoint_shows_what_both_ways_share(checkpoint, monkeypatch, capsys, name, status):
    monkeypatch.setenv("CHECKPOINT", str(checkpoint))
    target = f"{MODELS / 'from_folder.py'}:{name}"
    assert check_model(asked(target, "--reference", checkpoint, "--json")) == status
    told = json.loads(capsys.readouterr().out)
    assert told["not_covered"] is None
    assert {one["verdict"] for one in told["sessions"]} == {"right"}
    mechanisms = [one["mechanism"] for one in told["findings"]]
    assert mechanisms == ["the model differs from its checkpoint without a cache"] * status
