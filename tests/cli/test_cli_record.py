import shutil
import sys
from pathlib import Path

import pytest

from app import cli
from app.__main__ import main
from core.foreign.file import read_foreign
from resources import resource_path

FOLDER = str(resource_path("models", "learned"))


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def recorded(*arguments: str, folder: str = FOLDER) -> int:
    return cli.main(["record", folder, *arguments, "--trace", "a.kvtrace"])


def refused(capsys, *arguments: str, folder: str = FOLDER) -> str:
    """What is said; the file is not there then."""
    assert recorded(*arguments, folder=folder) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert not list(Path().glob("*a.kvtrace*"))
    return told.err


def test_a_checkpoint_is_recorded_and_judged(capsys):
    prompt = "Mia outside. Sam inside. Where is Mia?"
    assert main(["record", FOLDER, "--prompt", prompt, "--steps", "4", "--trace", "a.kvtrace"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    lines = told.out.splitlines()
    assert lines[0].startswith("a.kvtrace: 14 tokens in 5 calls of transformers")
    assert lines[-1].startswith("  verdict on logits: right 5, rounding 0, wrong 0")
    assert read_foreign(Path("a.kvtrace")).trace.n_calls == 5


def test_it_equals_a_run_of_our_own_engine(capsys):
    prompt = ("--prompt", "Mia outside. Sam inside. Where is Mia?", "--steps", "4")
    assert recorded(*prompt) == 0
    assert cli.main(["run", *prompt, "--trace", "own.kvtrace"]) == 0
    capsys.readouterr()
    assert cli.main(["compare", "a.kvtrace", "own.kvtrace", "--check"]) == 0
    assert capsys.readouterr().out.startswith("equal: 5 steps\n")


def test_it_differs_from_a_run_with_a_fault_where_that_begins(capsys):
    assert recorded("--prompt-ids", "1,2,3,4", "--steps", "3") == 0
    ids = read_foreign(Path("a.kvtrace")).trace.token_ids.tolist()
    forced = ",".join(map(str, ids[4:]))
    own = ("--prompt-ids", "1,2,3,4", "--steps", "3", "--force-ids", forced)
    assert cli.main(["run", *own, "--fault", "pos-restart", "--trace", "own.kvtrace"]) == 0
    capsys.readouterr()
    assert cli.main(["compare", "a.kvtrace", "own.kvtrace", "--check"]) == 1
    assert capsys.readouterr().out.startswith("first difference: step 1, logits\n")


def test_a_text_that_ends_says_so(capsys):
    assert recorded("--prompt", "Mia outside. Mia waits.", "--steps", "80") == 0
    said = capsys.readouterr().out
    n = read_foreign(Path("a.kvtrace")).trace.n_calls - 1
    assert n < 80
    assert f"the text ended after {n} of 80 steps" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--prompt", ""], "--prompt '' is empty"),
        (["--prompt-ids", "1,450"], "--prompt-ids has token 450; .* knows 0 to 449"),
        (["--prompt-ids", "1,x"], "'1,x' is no list of token ids"),
        (["--prompt-ids", "1", "--steps", "-1"], "'-1' is below 0"),
        (["--prompt-ids", "1,2", "--steps", "255"], "need 257 positions, .* has 256; choose fewer"),
        ([], "one of the arguments --prompt --prompt-ids is required"),
    ],
)
def test_what_cannot_be_recorded_is_told_in_one_line(arguments, said, capsys):
    import re

    assert re.search(said, refused(capsys, *arguments))


def test_a_folder_that_is_no_checkpoint_is_told_in_one_line(capsys):
    assert "nowhere: there is no such folder" in refused(capsys, "--prompt", "a", folder="nowhere")
    Path("empty").mkdir()
    assert "empty: has no config.json" in refused(capsys, "--prompt", "a", folder="empty")
    Path("empty/config.json").write_text('{"model_type": "of nobody"}', "utf-8")
    said = refused(capsys, "--prompt", "a", folder="empty")
    assert "empty: cannot be read by transformers (" in said


def test_a_checkpoint_whose_weights_are_missing_is_told_in_one_line(capsys):
    shutil.copytree(FOLDER, "half", ignore=shutil.ignore_patterns("*.safetensors"))
    assert "half: cannot be read by transformers (" in refused(
        capsys, "--prompt", "a", folder="half"
    )


def test_a_damaged_checkpoint_is_told_in_one_line(capsys):
    shutil.copytree(FOLDER, "cut")
    with Path("cut/model.safetensors").open("rb+") as file:
        file.truncate(100_000)
    assert "cut: cannot be read by transformers (" in refused(capsys, "--prompt", "a", folder="cut")


def test_weights_are_not_made_up(capsys):
    shutil.copytree(FOLDER, "short")
    config = Path("short/config.json")
    text = config.read_text("utf-8")
    config.write_text(text.replace('"n_layer": 4', '"n_layer": 5'), "utf-8")
    said = refused(capsys, "--prompt", "a", folder="short")
    assert "short: its files lack 12 tensors of the model that config.json describes" in said


def test_a_checkpoint_without_a_tokenizer_asks_for_ids(capsys):
    shutil.copytree(FOLDER, "bare", ignore=shutil.ignore_patterns("tokenizer*"))
    assert "has no tokens by the tokenizer of bare; give --prompt-ids" in refused(
        capsys, "--prompt", "a", folder="bare"
    )
    assert recorded("--prompt-ids", "1,2", "--steps", "1", folder="bare") == 0


def test_without_transformers_it_is_said_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert "reading it needs transformers, which is not installed: pip install transformers" in (
        refused(capsys, "--prompt", "a")
    )


def test_a_file_that_cannot_be_written_is_told_before_anything_is_loaded(capsys):
    arguments = ["record", "nowhere", "--prompt", "a", "--trace", "no/such/a.kvtrace"]
    assert cli.main(arguments) == 2
    assert "no/such/a.kvtrace: cannot be written" in capsys.readouterr().err
