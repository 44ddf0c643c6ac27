"""What is shown as code is the text of the functions that run."""

import ast
import subprocess
import sys
from pathlib import Path
from types import CodeType

import pytest

from core.engine.seams import CORRECT, Seams
from core.engine.types import Ledger
from core.faults import catalog
from core.faults.catalog import FAULTS
from core.faults.fault import Fault, Promise
from core.faults.scenarios import DECODING
from core.faults.sources import SEAM_NAMES, SeamSource, correct_source, faulty_sources
from core.spec import FaultUse

ROOT = Path(__file__).parents[3]


def one_more_than_seen(ledger: Ledger) -> int:
    """Count the current token too."""
    return ledger.seen + 1


OWN = Fault(
    id="own",
    title="A fault of this test",
    symptom="",
    tier="B",
    patch=Seams(past_len=one_more_than_seen),
    shows_in=DECODING,
    promise=Promise(1, "position_ids", 1),
    hides_in=DECODING,
    why_hidden="",
    repair="",
    sources=(),
)


def what_it_uses(code: CodeType) -> tuple[object, ...]:
    return code.co_varnames, code.co_names, code.co_consts[1:], code.co_argcount


def only(*uses: FaultUse, step: int = 1, layer: int = 0) -> SeamSource:
    (source,) = faulty_sources(uses, step, layer)
    return source


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_text_of_both_functions_stands_in_their_files_where_it_is_said_to(fault: Fault) -> None:
    source = only(FaultUse(fault.id))
    assert source.faulty is not None
    for function, shown in (
        (getattr(fault.patch, fault.seam), source.faulty),
        (getattr(CORRECT, fault.seam), source.correct),
    ):
        lines = (ROOT / shown.file).read_text().splitlines()
        stands_there = lines[shown.line - 1 :][: len(shown.text.splitlines())]
        assert shown.text.splitlines() == stands_there
        assert shown.name == function.__name__
        assert f"def {function.__name__}(" in stands_there[0]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_text_shown_is_what_the_live_function_was_made_from(fault: Fault) -> None:
    """Compiled, it uses the same names and numbers in the same order as the live function."""
    source = only(FaultUse(fault.id))
    assert source.faulty is not None
    live = getattr(fault.patch, fault.seam)
    (function,) = ast.parse(source.faulty.text).body
    assert isinstance(function, ast.FunctionDef)
    code = compile(source.faulty.text, "shown", "exec")
    made = next(const for const in code.co_consts if hasattr(const, "co_code"))
    assert what_it_uses(made) == what_it_uses(live.__code__)


def test_a_fault_of_one_s_own_shows_its_own_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "FAULTS", (OWN,))
    source = only(FaultUse("own"))
    assert source.faulty is not None
    assert source.faulty.text == (
        "def one_more_than_seen(ledger: Ledger) -> int:\n"
        '    """Count the current token too."""\n'
        "    return ledger.seen + 1"
    )
    assert source.faulty.file == "tests/core/faults/test_sources.py"
    assert source.correct == correct_source("past_len").correct


def test_a_function_without_a_file_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, object] = {}
    exec("def typed_in(past_len, n_new): ...", made)  # noqa: S102  (as an interpreter does)
    typed_in = made["typed_in"]
    own = Fault(**{**_fields(OWN), "patch": Seams(position_ids=typed_in)})
    monkeypatch.setattr(catalog, "FAULTS", (own,))
    source = only(FaultUse("own"))
    assert source.faulty is not None
    assert source.faulty.text == "# the source of typed_in is not there to be read"
    assert source.faulty.file == ""


@pytest.mark.parametrize("seam", SEAM_NAMES)
def test_each_seam_has_the_text_of_its_rule(seam: str) -> None:
    source = correct_source(seam)
    assert source.faulty is None
    assert source.correct.name == seam
    assert source.correct.text.startswith(f"def {seam}(")


def test_a_combination_gives_one_source_for_each_of_its_faults() -> None:
    found = faulty_sources((FaultUse("interview-class"),), 0, 0)
    assert [(source.fault_id, source.seam) for source in found] == [
        ("cap-early", "overflow"),
        ("cap-counter-first", "admit"),
        ("mask-unwritten", "kv_view"),
    ]


@pytest.mark.parametrize(
    ("use", "step", "layer", "is_acting", "when"),
    [
        (FaultUse("mask-top-left"), 0, 0, True, ""),
        (FaultUse("mask-top-left", first_step=3), 2, 0, False, "from step 3 on"),
        (FaultUse("mask-top-left", first_step=3), 3, 0, True, "from step 3 on"),
        (FaultUse("mask-top-left", first_step=1, last_step=2), 3, 0, False, "in steps 1 to 2"),
        (FaultUse("mask-top-left", layers=(1,)), 3, 0, False, "in layer 1"),
        (FaultUse("mask-top-left", layers=(1, 2)), 3, 2, True, "in layers 1, 2"),
    ],
)
def test_a_source_tells_whether_the_fault_acts_in_the_step_and_layer(
    use: FaultUse, step: int, layer: int, is_acting: bool, when: str
) -> None:
    source = only(use, step=step, layer=layer)
    assert (source.is_acting, source.when) == (is_acting, when)


def test_reading_sources_needs_no_torch() -> None:
    program = (
        "import sys; from core.faults.sources import *;"
        "[correct_source(name) for name in SEAM_NAMES]; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)  # noqa: S603


def _fields(fault: Fault) -> dict[str, object]:
    return {name: getattr(fault, name) for name in Fault.__dataclass_fields__}
