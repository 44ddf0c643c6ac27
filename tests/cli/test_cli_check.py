"""`kvscope check`: a class of somebody's own, on the command line."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from app import cli

ROOT = Path(__file__).parents[2]
CACHES = ROOT / "tests" / "helpers" / "caches"
INTERVIEW = f"{CACHES / 'interview.py'}:KVCache"
DECODED = (
    "tiny-learned, tiny-rope, tiny-alibi decode with it as without a cache (rows of float16 too)"
)
CONTIGUOUS = f"{CACHES / 'contiguous.py'}:KVCache"


@pytest.fixture
def told(capsys):
    """Runs the command; its status, what it prints and what it complains of."""

    def run(*arguments: str) -> tuple[int, str, str]:
        status = cli.main(["check", *arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def states(text):
    return {rule["rule"]: rule["state"] for rule in json.loads(text)["rules"]}


def test_a_class_with_faults_is_told_with_the_calls_that_show_them(told):
    status, text, _ = told(INTERVIEW)
    assert status == 1
    assert text.endswith(
        "3 rules broken; 6 more follow from them\n"
        "models do not decode with it as long as a rule is broken\n"
    )
    assert (
        "rule 9: exact fill is refused\n    new, capacity 1\n    append 1 row\n"
        "  expected  accepted\n  found     ValueError: cache full\n"
    ) in text


def test_the_example_of_the_guide_prints_what_stands_there(told, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "core" / "README.md").read_text("utf-8").split("## Your own cache\n")[1]
    command, shown = re.search(r"```\n\$ kvscope check (.*?)\n(.*?)```", text, re.DOTALL).groups()
    assert told(*command.split()) == (1, shown, "")


def test_a_right_class_has_status_0_and_its_notes_say_what_was_seen(told):
    status, text, _ = told(CONTIGUOUS)
    assert status == 0
    assert "no rule is broken" in text
    assert "note 17: writing to what came back changes the cache\n" in text
    assert text.endswith(f"{DECODED}\n")


def test_the_report_in_json_is_one_line_with_every_rule_and_the_roots(told):
    status, text, _ = told(INTERVIEW, "--json")
    assert status == 1
    assert text.count("\n") == 1
    report = json.loads(text)
    assert [rule["rule"] for rule in report["rules"]] == list(range(1, 41))
    assert [finding["rule"] for finding in report["findings"]] == [4, 9, 11]
    finding = report["findings"][1]
    assert set(finding) == {"mechanism", "rule", "like", "where", "evidence"}
    assert [one["like"] for one in report["findings"]] == [
        "mask-unwritten", "cap-early", "cap-counter-first"
    ]  # fmt: skip
    rule = report["rules"][8]
    assert {"rule", "state", "sequence", "expected", "found", "repair"} <= set(rule)
    assert report["rules"][0]["root"] == 4


def test_only_the_rules_that_are_named_are_asked(told):
    _, text, _ = told(CONTIGUOUS, "--json", "--only", "9", "--only", "3")
    assert states(text) == {3: "pass", 9: "pass"}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ((), {7: "note", 8: "note", 17: "note", 18: "note"}),
        (("copies",), {7: "note", 8: "note", 17: "fail", 18: "fail"}),
        (("live_views",), {7: "note", 8: "note", 17: "note", 18: "skipped"}),
        (("broadcast",), {7: "fail", 8: "fail", 17: "note", 18: "note"}),
    ],
)
def test_what_is_declared_decides_what_is_a_fault(told, declared, expected):
    options = [word for name in declared for word in ("--declare", name)]
    only = [word for rule in (7, 8, 17, 18) for word in ("--only", str(rule))]
    _, text, _ = told(INTERVIEW, "--json", *options, *only)
    assert states(text) == expected


def test_a_whole_buffer_that_is_declared_is_not_held_against_the_class(told):
    _, text, _ = told(INTERVIEW, "--json", "--declare", "whole_buffer")
    found = states(text)
    assert (found[1], found[2], found[4]) == ("skipped", "skipped", "skipped")
    assert {rule for rule, state in found.items() if state == "fail"} == {9, 11}


def test_a_class_that_refuses_what_numpy_would_stretch_keeps_that_promise(told):
    ring = f"{CACHES / 'ring.py'}:RingCache"
    status, text, _ = told(ring, "--json", "--declare", "broadcast", "--only", "7", "--only", "8")
    assert (status, states(text)) == (0, {7: "pass", 8: "pass"})


def test_a_wider_number_that_becomes_infinite_is_noted(told):
    layered = f"{CACHES / 'layered.py'}:LayeredCache"
    status, text, _ = told(layered, "--only", "35")
    assert status == 0
    assert "[inf] where a strict cache gives 1e+39 is refused, or read as it is" in text


def test_arguments_that_are_given_reach_the_constructor(told):
    _, text, _ = told(CONTIGUOUS, "--args", "d_k=6, d_v=5", "--only", "3", "--json")
    assert states(text) == {3: "pass"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.py:KVCache",), "nothing.py: there is no such file"),
        (("nothing.py",), "'nothing.py' names no class: write FILE.py:NAME"),
        ((f"{CACHES / 'interview.py'}:Cache",), "has no 'Cache'; it has KVCache"),
        ((f"{CACHES.parent / 'models' / 'nano.py'}:both",), "both is a model: give --kind model"),
        ((CONTIGUOUS, "--args", "8, 4"), "--args '8, 4' has no names"),
        ((CONTIGUOUS, "--args", "rows=8"), "--args names 'rows', which KVCache does not take"),
        ((CONTIGUOUS, "--only", "41"), "'41' is no rule; they go from 1 to 40"),
        ((CONTIGUOUS, "--adapter", "none.py"), "--adapter none.py: there is no such file"),
        ((CONTIGUOUS, "--declare", "copies", "--declare", "live_views"), "exclude each other"),
        ((CONTIGUOUS, "--write-tests", "/nowhere/t.py"), "/nowhere/t.py: cannot be written"),
        (
            (CONTIGUOUS, "--write-tests", CONTIGUOUS.split(":")[0]),
            "is there already, and --write-tests did not write it",
        ),
        (
            (CONTIGUOUS, "--prompt-ids", "1,2"),
            "--prompt-ids is for a model, and this is a class; leave it out, or give --kind model",
        ),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(told, arguments, said):
    status, text, complaint = told(*arguments)
    assert (status, text) == (2, "")
    assert complaint.count("\n") == 1
    assert said in complaint


def test_the_report_in_json_is_kept_where_the_class_cannot_be_driven(told, tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text("import sys\nsys.exit('not today')\n", encoding="utf-8")
    status, text, complaint = told(f"{path}:Cache", "--only", "3", "--only", "9", "--json")
    assert (status, complaint.count("\n")) == (2, 1)
    assert "it calls sys.exit('not today') (theirs.py, line 2)" in complaint
    report = json.loads(text)
    assert states(text) == {3: "skipped", 9: "skipped"}
    assert report["findings"] == []
    assert report["cannot_be_driven"] in complaint


def test_tests_are_written_where_something_is_broken_and_only_there(told, tmp_path):
    path = tmp_path / "test_theirs.py"
    status, text, _ = told(CONTIGUOUS, "--write-tests", str(path))
    assert status == 0
    assert text.endswith(f"{path} is not written: no rule is broken\n")
    assert not path.exists()
    status, text, _ = told(INTERVIEW, "--write-tests", str(path))
    assert status == 1
    assert text.endswith(f"tests that fail as this class does: {path}\n")
    assert path.read_text("utf-8").count("\ndef test_rule_") == 3
    assert os.listdir(tmp_path) == ["test_theirs.py"]


def test_models_are_asked_where_only_checks_of_arguments_are_missing(told, tmp_path):
    text = (CACHES / "listed.py").read_text("utf-8")
    path = tmp_path / "theirs.py"
    path.write_text(text.replace("if k.shape != v.shape:", "if False:"), encoding="utf-8")
    status, text, _ = told(f"{path}:ListedCache")
    assert status == 1
    assert text.endswith(
        f"models are asked all the same: none gives what such a rule is about\n{DECODED}\n"
    )


HANGS = """
    import os
    import time
    from pathlib import Path

    class KVCache:
        def __init__(self, capacity):
            self.rows = []

        def append(self, k, v):
            part = Path(os.environ["PID_FILE"] + ".part")
            part.write_text(str(os.getpid()))
            part.rename(os.environ["PID_FILE"])
            while True:
                try:
                    time.sleep(1)
                except KeyboardInterrupt:
                    pass
"""


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_ends_the_check_and_the_process_of_the_class(tmp_path):
    path, pid_file = tmp_path / "theirs.py", tmp_path / "pid"
    path.write_text(textwrap.dedent(HANGS), encoding="utf-8")
    process = subprocess.Popen(  # noqa: S603  (our own program)
        [sys.executable, "-m", "app", "check", f"{path}:KVCache"],
        env={**os.environ, "PID_FILE": str(pid_file)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not pid_file.exists():
        assert process.poll() is None
    pid = int(pid_file.read_text("ascii"))
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
