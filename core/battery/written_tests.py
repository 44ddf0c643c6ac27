"""Failures as a pytest file that fails as long as they do."""

import json
import shlex
from collections.abc import Sequence

from core.battery.checks import Failure, law_of

_HEAD = '''\
"""Properties of a KV cache that did not hold, each in its smallest case.

Written by `kvscope battery --write-tests`; run it with pytest where kvscope is installed. Without
its faults, {none}, the engine passes.
"""

from core.battery.checks import broken

FAULTS: tuple[str, ...] = ({faults})
FAULT_FILES: tuple[str, ...] = ({files})
DTYPE = "{dtype}"
'''
_TEST = """

def test_{name}():
    # {sentence}
    case = (
{case}
    )
    assert broken(case, FAULTS, DTYPE, fault_files=FAULT_FILES) is None
"""
_LINE = 72


def test_file(
    failures: Sequence[Failure], faults: Sequence[str], dtype: str, files: Sequence[str]
) -> str:
    """The text of the file.

    Args:
        failures: what is to be tested.
        faults: what is on, each as `kvscope battery --fault` takes it.
        dtype: number type.
        files: those of faults of one's own.
    """
    none = "`FAULTS = ()`"
    head = _HEAD.format(faults=_listed(faults), files=_listed(files), dtype=dtype, none=none)
    return head + "".join(_test_of(failure) for failure in failures)


def _listed(texts: Sequence[str]) -> str:
    return "".join(f"{_literal(text)}, " for text in texts).strip()


def _literal(text: str) -> str:
    """A text as Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def _test_of(failure: Failure) -> str:
    law = law_of(failure.case)
    lines: list[str] = [""]
    for word in map(shlex.quote, failure.case.parts()):
        if len(lines[-1]) + len(word) > _LINE and lines[-1]:
            lines.append("")
        lines[-1] += f"{word} "
    lines[-1] = lines[-1].rstrip()
    case = "\n".join(f"        {_literal(line)}" for line in lines)
    return _TEST.format(name=law.id.replace("-", "_"), sentence=law.sentence, case=case)
