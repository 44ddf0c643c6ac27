"""What a file offers, told from its text: nothing is run."""

import textwrap

import pytest

from core.contract.names_in_file import Named, methods_of, names_in
from core.contract.subject import NotDrivableError


def offered(folder, text):
    path = folder / "theirs.py"
    path.write_text(textwrap.dedent(text), "utf-8")
    return names_in(path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class Cache:\n    def append(self, k, v): ...\n", [Named("Cache", "class")]),
        ("class Odd:\n    def place(self, pair): ...\n", [Named("Odd", "class", False)]),
        ("class Mine(transformers.DynamicCache): ...\n", [Named("Mine", "class")]),
        (
            "class A:\n    def update(self, k, v, layer): ...\nclass B(A): ...\n",
            [Named("A", "class"), Named("B", "class")],
        ),
        (
            "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x): ...\n"
            "def make_model(size=3):\n    return Net()\n",
            [Named("make_model", "model"), Named("Net", "model", False)],
        ),
        (
            "from mine import Net\nmodel_name = 3\ndef make_model():\n    return Net()\n"
            "def helper(x):\n    return x\ndef main():\n    return 0\n",
            [Named("make_model", "model")],
        ),
        ("import torch\nmodel = torch.load('x')\nother = 3\n", [Named("model", "model")]),
    ],
    ids=["cache", "unknown", "by-base", "inherited", "model", "import", "made"],
)
def test_caches_and_models_are_found_the_likely_ones_first(tmp_path, text, names):
    assert list(offered(tmp_path, text)) == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "theirs.py has no class and nothing that makes a model"),
        ("class A:\ndef f(:\n", "theirs.py, line 2 is no Python"),
    ],
    ids=["nothing", "no-python"],
)
def test_a_file_with_nothing_to_check_is_refused_in_one_line(tmp_path, text, said):
    with pytest.raises(NotDrivableError) as refused:
        offered(tmp_path, text)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path):
    with pytest.raises(NotDrivableError, match=r"gone\.py cannot be read"):
        names_in(tmp_path / "gone.py")
    odd = tmp_path / "odd.py"
    odd.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NotDrivableError, match=r"odd\.py is no"):
        names_in(odd)


def test_nothing_in_the_file_is_run(tmp_path):
    marker = tmp_path / "was-run"
    offered(tmp_path, f"open({str(marker)!r}, 'w')\nclass A:\n    def append(self, k, v): ...\n")
    assert not marker.exists()


def test_methods_are_found_with_their_lines_also_those_of_a_base():
    text = textwrap.dedent(
        """\
        class Base:
            def keys(self):
                return 1


        class Mine(Base):
            @property
            def n(self):
                return 2
        """
    )
    found = methods_of(text, "Mine", ["n", "keys", "gone"])
    assert [source.first_line for source in found] == [7, 2]
    assert found[0].text == "@property\ndef n(self):\n    return 2"
    assert found[1].text == "def keys(self):\n    return 1"
