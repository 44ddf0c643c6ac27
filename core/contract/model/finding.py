"""What is found in a model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from core.contract.model.facts import Call
from core.diagnose.words import WORDS

Basis = Literal["observed", "black box"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A mechanism, with what speaks for it.

    Attributes:
        mechanism: what goes wrong, in words.
        preset_like: id of a fault that works like it; None: none is known.
        basis: whether the model was seen inside, or only its logits.
        call: number of the call, the prefill being 0.
        layer: where it was seen; None: it belongs to no layer.
        evidence: sentences with what was found and what must hold; each begins with its basis.
    """

    mechanism: str
    preset_like: str | None
    basis: Basis
    call: int
    layer: int | None
    evidence: tuple[str, ...]

    def with_more(self, other: "Finding") -> "Finding":
        """With the evidence of another one too."""
        return replace(self, evidence=(*self.evidence, *other.evidence))


def _marked(basis: Basis, evidence: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{basis}: {words}" for words in evidence)


def like(
    preset: str, call: int, layer: int | None, *evidence: str, basis: Basis = "observed"
) -> Finding:
    """A finding of a known mechanism, seen inside the model."""
    words = _marked(basis, evidence)
    return Finding(WORDS[preset].mechanism, preset, basis, call, layer, words)


def seen(
    mechanism: str, call: int, layer: int | None, *evidence: str, basis: Basis = "observed"
) -> Finding:
    """A finding of no known mechanism, seen inside the model."""
    return Finding(mechanism, None, basis, call, layer, _marked(basis, evidence))


def boxed(mechanism: str, call: int, *evidence: str, preset: str | None = None) -> Finding:
    """A finding from the logits alone."""
    return Finding(mechanism, preset, "black box", call, None, _marked("black box", evidence))


def call_words(call: Call) -> str:
    """A call, as evidence names it."""
    tokens = "token" if call.n == 1 else "tokens"
    return f"{call.n} {tokens} after {call.past}" if call.past else f"the first {call.n} {tokens}"


def spans(numbers: Sequence[int]) -> str:
    """Ascending numbers as "0, 2-7"; "none" where there is none."""
    parts: list[str] = []
    start = 0
    for i in range(1, len(numbers) + 1):
        if i < len(numbers) and numbers[i] == numbers[i - 1] + 1:
            continue
        first, last = numbers[start], numbers[i - 1]
        parts.append(str(first) if first == last else f"{first}-{last}")
        start = i
    return ", ".join(parts) or "none"
