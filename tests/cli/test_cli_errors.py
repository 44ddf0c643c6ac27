import json
from pathlib import Path

import pytest

from app import cli
from core.model.saving import save_model
from tests.helpers.runs import tiny

TINY = ["run", "--model", "tiny-learned"]
HI = [*TINY, "--prompt", "hi"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Each command runs in a folder of its own, so that what it leaves there is seen."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def complaint(capsys):
    """Runs a command that cannot be carried out; the one line that it says."""

    def run(arguments: list[str]) -> str:
        before = sorted(Path().rglob("*"))
        assert cli.main(arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("kvscope: ")
        assert captured.err.count("\n") == 1
        assert captured.err.endswith("\n")
        assert sorted(Path().rglob("*")) == before
        return captured.err

    return run


@pytest.mark.parametrize(
    ("arguments", "value", "would_do"),
    [
        (["run", "--fault", "pos-restrat"], "'pos-restrat'", "did you mean pos-restart? there are"),
        (["run", "--prompt", "hi", "--model", "gpt9"], "'gpt9'", "tiny-rope"),
        ([*TINY, "--prompt", ""], "''", "at least one character"),
        ([*TINY, "--prompt-ids", ""], "''", "1,2,3"),
        ([*TINY, "--prompt-ids", "1,x"], "'1,x'", "1,2,3"),
        ([*TINY, "--prompt-ids", "1,256"], "256", "0 to 255"),
        (TINY, "no prompt", "--prompt TEXT"),
        ([*HI, "--prompt-ids", "1"], "--prompt-ids", "not allowed with"),
        ([*HI, "--capacity", "0"], "capacity is 0", "at least 1"),
        ([*HI, "--capacity", "257"], "257", "at most 256"),
        ([*HI, "--capacity", "1"], "2 tokens", "--capacity 26 "),
        ([*HI, "--capacity", "1", "--chunk", "1"], "2 tokens", "--capacity 26 "),
        ([*HI, "--capacity", "1", "--steps", "3"], "2 tokens", "--capacity 5 "),
        ([*HI, "--capacity", "1", "--steps", "300"], "2 tokens", "--capacity 256 "),
        ([*HI, "--sinks", "2", "--policy", "window"], "sinks = 2", "policy sinks"),
        ([*HI, "--reassign-positions"], "reassign_positions = True", "policy sinks"),
        ([*HI, "--temperature", "inf"], "inf", "finite"),
        ([*HI, "--model", "tiny-rope", "--capacity", str(10**12)], str(10**12), "choose at most"),
        ([*HI, "--steps", str(10**9)], str(10**9), "at most 1000000"),
        ([*HI, "--steps", "-1"], "-1", "at least 0"),
        ([*HI, "--steps", "many"], "'many'", "whole number"),
        ([*HI, "--chunk", "0"], "chunk is 0", "at least 1"),
        ([*HI, "--policy", "lru"], "'lru'", "window"),
        ([*HI, "--policy", "sinks", "--capacity", "4"], "4 sinks", "at most 3"),
        ([*HI, "--sinks", "2"], "sinks = 2", "policy sinks"),
        ([*HI, "--policy", "sinks", "--reassign-positions"], "re-assigned", "RoPE or ALiBi"),
        ([*HI, "--force-ids", "4,,5"], "'4,,5'", "1,2,3"),
        ([*HI, "--force-ids", "999"], "999", "0 to 255"),
        ([*HI, "--temperature", "-1"], "-1", "0 (greedy)"),
        ([*HI, "--temperature", "nan"], "nan", "0 (greedy)"),
        ([*HI, "--temperature", "hot"], "'hot'", "float"),
        ([*HI, "--top-k", "0"], "top_k is 0", "at least 1"),
        ([*HI, "--top-p", "1.5"], "1.5", "at most 1"),
        ([*HI, "--seed", "-3"], "-3", "at least 0"),
        ([*HI, "--device", "tpu"], "'tpu'", "cpu"),
        ([*HI, "--dtype", "int8"], "'int8'", "float32"),
        ([*HI, "--fault", "pos-restart@"], "'pos-restart@'", "ID@FROM"),
        ([*HI, "--fault", "pos-restart@x"], "'pos-restart@x'", "ID@FROM"),
        ([*HI, "--fault", "pos-restart@5-3"], "'pos-restart@5-3'", "@3-5"),
        ([*HI, "--fault", "store-row-zero:layers=4"], "4", "0 to 3"),
        ([*HI, "--steps", "3", "--fault", "pos-restart@4"], "pos-restart@4", "0 to 3"),
        ([*HI, "--fault", "store-layers-share@2"], "asked once", "leave @FROM-TO out"),
        ([*HI, "--fault", "store-layers-share@0-1"], "asked once", "leave @FROM-TO out"),
        ([*HI, "--fault", "pos-restart:layers=1"], "pos-restart", "leave layers= out"),
        (
            [*HI, "--fault", "cap-counter-first", "--fault", "store-uneven"],
            "cap-counter-first and store-uneven",
            "choose one of them",
        ),
        ([*HI, "--trace", "missing/run.kvtrace"], "missing/run.kvtrace", "a folder that you can"),
        ([*HI, "--trace", "."], "ordinary file", "another name"),
        ([*HI, "--prompt", "-x", "--steps"], "--prompt", "--option=VALUE"),
        ([*HI, "--bogus"], "--bogus", "kvscope run --help"),
        ([*HI, "extra\nwords"], "extra words", "kvscope run --help"),
        (["bogus"], "'bogus'", "--help"),
        (["export", "gone.kvtrace", "--out", "x.npz"], "gone.kvtrace", "a .kvtrace"),
        (["export", "gone.kvtrace", "--out", "no/x.npz"], "no/x.npz", "a folder that you can"),
        (["export", "a", "--tensors", "keys", "--out", "x.npz"], "'keys'", "logits,attention"),
        (["export", "a"], "--out", "required"),
        (["run", "--trace="], "--trace", "the path of a file"),
        (["compare", "a.kvtrace", "b.kvtrace"], "a.kvtrace", "a .kvtrace"),
        (["compare", "a.kvtrace"], "B", "required"),
        (["faults", "--yaml"], "--yaml", "--help"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_input_that_cannot_be_used_is_one_line_that_says_what_would_do(
    arguments, value, would_do, complaint
):
    said = complaint(arguments)
    assert value in said
    assert would_do in said


def write_text(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("content", ["", "no trace at all\n" * 9, '{"kind": "run"}'])
@pytest.mark.parametrize(
    "arguments",
    [["export", "x.kvtrace", "--out", "x.npz"], ["compare", "x.kvtrace", "x.kvtrace"]],
    ids=["export", "compare"],
)
def test_a_file_that_is_no_trace_is_refused(arguments, content, complaint):
    write_text("x.kvtrace", content)
    assert "x.kvtrace: cannot be read as a trace" in complaint(arguments)


@pytest.fixture
def checkpoint() -> Path:
    loaded = tiny("learned")
    folder = Path("checkpoint")
    save_model(folder, loaded.weights, loaded.tokenizer.json_text)
    return folder


RUN_CHECKPOINT = ["run", "--model", "checkpoint", "--prompt", "hi", "--trace", "x.kvtrace"]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_model_folder_without_one_of_its_files_is_refused(name, checkpoint, complaint):
    (checkpoint / name).unlink()
    assert name in complaint(RUN_CHECKPOINT)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_a_model_folder_with_a_file_cut_short_is_refused(name, share, checkpoint, complaint):
    content = (checkpoint / name).read_bytes()
    (checkpoint / name).write_bytes(content[: int(share * len(content))])
    assert "checkpoint" in complaint(RUN_CHECKPOINT)


def test_a_model_folder_that_contradicts_itself_is_refused(checkpoint, complaint):
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps({**config, "n_layer": 9}))
    assert "checkpoint" in complaint(RUN_CHECKPOINT)


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_a_run_that_needs_too_much_memory_says_what_would_do(error, complaint, monkeypatch):
    def advance(session: object) -> None:
        raise error

    monkeypatch.setattr("core.session.Session.advance", advance)
    assert "--chunk" in complaint(HI)


def test_an_export_does_not_replace_its_trace(monkeypatch, capsys):
    assert cli.main([*HI, "--steps", "1", "--trace", "run.kvtrace"]) == 0
    before = Path("run.kvtrace").read_bytes()
    assert cli.main(["export", "run.kvtrace", "--out", "./run.kvtrace"]) == 2
    assert "is the trace itself" in capsys.readouterr().err
    assert Path("run.kvtrace").read_bytes() == before


def test_an_unwritable_trace_is_found_before_anything_is_loaded(complaint, monkeypatch):
    def load(name: str) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("app.cli_run.load_model", load)
    complaint([*HI, "--trace", "missing/run.kvtrace"])


def test_a_trace_that_cannot_be_finished_leaves_the_old_file(monkeypatch, capsys):
    def full_disk(number: int) -> None:
        raise OSError(28, "No space left on device")

    write_text("run.kvtrace", "old")
    monkeypatch.setattr("os.fsync", full_disk)
    assert cli.main([*HI, "--steps", "1", "--trace", "run.kvtrace"]) == 2
    said = capsys.readouterr()
    assert "run.kvtrace: cannot be written (No space left on device)" in said.err
    # The account is given all the same, and speaks of no file.
    assert "Ended after 2 steps" in said.out
    assert "kvscope run.kvtrace" not in said.out
    assert [path.name for path in Path().iterdir()] == ["run.kvtrace"]
    assert Path("run.kvtrace").read_text() == "old"


@pytest.mark.parametrize("command", ["run", "faults", "export", "compare"])
def test_help_is_status_0_and_goes_to_standard_output(command, capsys):
    assert cli.main([command, "--help"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"usage: kvscope {command}")
    assert captured.err == ""


def test_the_help_of_run_says_which_kind_of_trace_is_written(capsys):
    cli.main(["run", "--help"])
    assert "full .kvtrace" in " ".join(capsys.readouterr().out.split())
