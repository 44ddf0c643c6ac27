"""What `kvscope check` finds in the caches of transformers; writes CHECKED.md beside this file.

python -m tests.benchmarks.checked
"""

import tempfile
from importlib import metadata
from pathlib import Path

from core.contract.check import Verdict, check
from core.contract.plan import Declared, plan_for
from core.contract.report import mechanism
from core.contract.subject import Source, Subject

HERE = Path(__file__).parent
ADAPTERS = HERE.parent / "helpers" / "adapters"
CLASSES: tuple[tuple[str, str, str | None, tuple[Declared, ...]], ...] = (
    ("DynamicCache", "DynamicCache", None, ()),
    ("StaticCache", "StaticCache", "static", ("whole_buffer",)),
    ("DynamicCache with a sliding window", "DynamicCache", "sliding", ()),
    ("StaticCache with a sliding window", "StaticCache", "static_sliding", ("whole_buffer",)),
)
HEAD = """\
# Caches of transformers, checked

Written by `python -m tests.benchmarks.checked` with transformers {transformers} and torch {torch}.
Each line is what the class did in the calls that stand there, not a judgement of how it is meant to
be used: a caller that never makes such a call does not meet it. The adapters are in
`tests/helpers/adapters`; StaticCache is checked with `--declare whole_buffer`, since a mask covers
what it gives back.
"""


def main() -> None:
    """Check each class and write the page."""
    parts = [
        HEAD.format(
            transformers=metadata.version("transformers"),
            torch=metadata.version("torch").split("+")[0],
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "theirs.py"
        path.write_text("from transformers import DynamicCache, StaticCache\n", encoding="utf-8")
        for title, name, adapter, declared in CLASSES:
            file = None if adapter is None else ADAPTERS / f"{adapter}.py"
            with Subject(Source(path, name, {}, file)) as subject:
                verdicts = check(subject, plan_for(subject, frozenset(declared)))
            parts.append(_part(title, verdicts))
    (HERE / "CHECKED.md").write_text("\n".join(parts), encoding="utf-8")


def _part(title: str, verdicts: list[Verdict]) -> str:
    n = sum(verdict.state == "pass" for verdict in verdicts)
    lines = [f"## {title}", "", f"{n} rules hold."]
    lines += _listed(verdicts, "fail", "Broken:")
    lines += _listed(verdicts, "note", "Noted (no fault unless promised otherwise):")
    return "\n".join([*lines, ""])


def _listed(verdicts: list[Verdict], state: str, words: str) -> list[str]:
    lines: list[str] = []
    for verdict in verdicts:
        if verdict.state == state and verdict.case is not None and verdict.found is not None:
            calls = "; ".join(verdict.case.words())
            lines.append(
                f"- rule {verdict.rule}, {mechanism(verdict)}: {calls}. "
                f"Expected {verdict.found.expected}, found {verdict.found.found}"
            )
    return ["", words, "", *lines] if lines else []


if __name__ == "__main__":
    main()
