"""`kvscope check --kind model`: what it prints, and its exit status."""

import json
import re
import textwrap
from pathlib import Path

import pytest

from app import cli
from core.model.loading import load_model, save_model

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "helpers" / "models"
NANO = MODELS / "nano.py"


@pytest.fixture
def told(capsys):
    """Runs the command; its status, what it prints and what it complains of."""

    def run(target, *arguments):
        options = () if "--steps" in arguments else ("--steps", "3")
        status = cli.main(["check", str(target), "--kind", "model", *map(str, arguments), *options])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint") / "model"
    loaded = load_model("tiny-rope")
    save_model(folder, loaded.weights, loaded.tokenizer.json_text)
    return folder


UNSEEN = """
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(24, 72), nn.Linear(24, 24)
            self.register_buffer("bias", torch.ones(40, 40).tril().bool()[None, None])

        def forward(self, x, past):
            B, T, C = x.shape
            q, k, v = (t.view(B, T, 3, 8).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            S = k.shape[2]
            att = (q @ k.mT / 8**0.5).masked_fill(~self.bias[:, :, MASK, :S], float("-inf"))
            y = (att.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
            return x + self.out(y), (k, v)

    class NanoGPT(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.tokens, self.positions = nn.Embedding(50, 24), nn.Embedding(40, 24)
            self.layers = nn.ModuleList([Layer(), Layer()])
            self.head = nn.Linear(24, 50)

        def forward(self, ids, past_key_values=None):
            T = ids.shape[1]
            past = 0 if past_key_values is None else past_key_values[0][0].shape[2]
            x, kept = self.tokens(ids) + self.positions(torch.arange(START, START + T)), []
            for i, layer in enumerate(self.layers):
                x, pair = layer(x, past_key_values[i] if past_key_values else None)
                kept.append(pair)
            return self.head(x), kept

    def make_model():
        return NanoGPT()
"""


@pytest.mark.parametrize(
    ("start", "mask", "findings", "seen"),
    [
        ("past", "S - T : S", [], []),
        ("0", "S - T : S", ["pos-restart"],
         ["position ids looked up in positions.weight are [0], must be [5]"]),
        ("past", ":T", ["mask-top-left"], ["sees 1 of 6 keys: 0; blind to 1-5"]),
        ("0", ":T", ["pos-restart", "mask-top-left"], ["are [0], must be [5]", "sees 1 of 6"]),
    ],
    ids=["right", "positions restarted", "mask row 0", "both"],
)  # fmt: skip
def test_a_model_in_a_file_never_seen_before_has_its_faults_named(
    told, tmp_path, start, mask, findings, seen
):
    path = tmp_path / "theirs.py"
    text = textwrap.dedent(UNSEEN).replace("START", start).replace("MASK", mask)
    path.write_text(text, encoding="utf-8")
    status, out, _ = told(f"{path}:make_model")
    assert status == int(bool(findings))
    assert re.findall(r"\(like (.*?)\): call 1", out) == findings
    assert all(words in out for words in seen)
    assert ("WRONG     prefill of 5, then single tokens" in out) == bool(findings)
    assert out.endswith("no finding\n") == (not findings)
    assert "not covered: a fault that the model has with and without a cache" in out
    assert "thresholds: right up to" in out


def test_the_json_report_is_one_line(told):
    status, out, _ = told(f"{NANO}:both", "--json")
    (line,) = out.splitlines()
    report = json.loads(line)
    assert status == 1
    assert report["rules"] == []
    assert [one["like"] for one in report["findings"]] == ["pos-restart", "mask-top-left"]
    assert report["sessions"][0]["first_wrong"] == 1
    assert (
        "observed: call with 1 token after 5: position ids looked up in wpe.weight are [0]"
        in (report["findings"][0]["evidence"][0])
    )


def test_the_example_of_the_guide_prints_what_stands_there(told, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "core" / "README.md").read_text("utf-8").split("## Your own model\n")[1]
    example = re.search(r"```\n\$ kvscope check (.*?)```", text, re.DOTALL)
    assert example is not None
    command, *lines = example[1].splitlines()
    status, out, _ = told(*command.replace("--kind model ", "").split())
    assert status == 1
    assert [line for line in lines if line != "…" and line not in out.splitlines()] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nano.py",), "'nano.py' names no model: write FILE.py:make_model"),
        (("no.py:make",), "no.py: there is no such file"),
        ((f"{NANO}:right", "--adapter", "no.py"), "--adapter no.py: there is no such file"),
        ((f"{NANO}:right", "--vocab", "0"), "--vocab: '0' is below 1"),
        ((f"{NANO}:right", "--reference", "nowhere"), "nowhere: there is no such folder"),
        ((f"{NANO}:right", "--prompt-ids", "1,b"), "'1,b' is no list of token ids such as 1,2,3"),
        (
            (f"{NANO}:right", "--only", "3"),
            "--only is for a class, and this is a model; leave it out, or give --kind class",
        ),
        ((f"{NANO}:right", "--write-tests", "t.py"), "--write-tests is for a class"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(told, arguments, said):
    status, out, complaint = told(*arguments)
    assert (status, out) == (2, "")
    assert complaint.count("\n") == 1
    assert said in complaint


@pytest.mark.parametrize(
    ("name", "status"), [("right", 0), ("swapped_heads", 1)], ids=["equal", "heads-swapped"]
)
def test_a_checkpoint_shows_what_both_ways_share(checkpoint, monkeypatch, told, name, status):
    monkeypatch.setenv("CHECKPOINT", str(checkpoint))
    target = f"{MODELS / 'from_folder.py'}:{name}"
    found, out, _ = told(target, "--reference", checkpoint, "--json")
    report = json.loads(out)
    assert found == status
    assert report["not_covered"] is None
    assert {one["verdict"] for one in report["sessions"]} == {"right"}
    mechanisms = [one["mechanism"] for one in report["findings"]]
    assert mechanisms == ["the model differs from its checkpoint without a cache"] * status


def test_the_report_in_json_is_kept_where_the_model_cannot_be_driven(told):
    status, text, complaint = told(f"{NANO}:right", "--prompt-ids", "99", "--json")
    assert status == 2
    report = json.loads(text)
    assert (report["rules"], report["findings"]) == ([], [])
    assert report["cannot_be_driven"] in complaint
