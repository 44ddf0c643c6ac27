"""What documents say in numbers of the faults is what was measured."""

import re
from pathlib import Path

from app.matrix_table import markdown_of
from core.diagnose.words import WORDS
from core.faults.catalog import FAULTS
from core.faults.classes import CLASSES
from core.matrix_file import read_matrix
from resources import resource_path

ROOT = Path(__file__).parents[3]
IDS = [fault.id for fault in FAULTS]


def told(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def rows_of(name: str) -> list[str]:
    """First words of the rows of a document's tables that begin with a fault."""
    found = re.findall(r"^\| ([a-z-]+) \|", told(name), re.MULTILINE)
    return [word for word in found if word in IDS]


def test_the_matrix_has_a_cell_for_every_fault_and_its_page_says_what_the_file_does() -> None:
    file = read_matrix(resource_path("matrix.jsonl"))
    assert {cell.fault for cell in file.cells} == set(IDS)
    page = markdown_of(file.cells, file.n_prompts)
    assert page.strip() == told("tests/benchmarks/MATRIX.md").strip()


def test_the_readme_has_the_figures_of_the_trained_model() -> None:
    file = read_matrix(resource_path("matrix.jsonl"))
    of_it = [cell for cell in file.cells if cell.model == "learned"]
    wrong = [cell for cell in of_it if cell.first_wrong_logits is not None]
    same, chosen = sum(cell.n_same_chosen for cell in wrong), sum(cell.n_chosen for cell in wrong)
    words = " ".join(told("README.md").split())
    assert f"a quarter of the runs ({same:,} of {chosen:,}) still say" in words
    assert 0.22 < same / chosen < 0.28


def test_every_fault_has_its_row_where_presets_are_measured() -> None:
    assert rows_of("tests/benchmarks/DIAGNOSIS.md") == IDS == list(WORDS)
    assert rows_of("tests/benchmarks/PRESETS_16BIT.md") == IDS
    for each in CLASSES:
        assert f"- {', '.join(each.ids)}: {each.where}" in told("tests/benchmarks/DIAGNOSIS.md")
