"""What a check found, as JSON and in words."""

from collections.abc import Iterable, Sequence
from typing import Any

from core.contract.check import Verdict
from core.contract.decode import DecodeFinding, ModelTest
from core.contract.rule import A_REASON, AN_ANSWER, NAME_ERRORS, SHARED, Break
from core.contract.rules import RULES

BROKEN = {
    1: "a new cache is not empty",
    2: "keys and values come back with another number of rows than was appended",
    3: "rows are not read as they were appended",
    4: "reading shows rows that were never written",
    5: "a block of rows is read otherwise than the same rows one by one",
    6: "earlier rows change when later ones arrive",
    7: "keys and values that do not belong together are accepted",
    8: "rows of the wrong shape are accepted",
    9: "exact fill is refused",
    10: "a block that does not fit is not refused as a whole",
    11: "a refused append changes what the cache holds or counts",
    12: "an append far above the capacity is not refused",
    13: "an append of no rows changes something",
    14: "a capacity of 1 does not work",
    15: "a capacity of 0 or less is accepted",
    16: "the cache keeps the caller's arrays, and changes with them",
    17: "writing to what came back changes the cache",
    18: "what came back changes when more rows arrive",
    19: "a length is no number of its own",
    20: "layers share rows",
    21: "the layers of a step see different start positions",
    22: "tokens seen and rows held are mixed up",
    23: "a window does not show the last rows",
    24: "the wrong row leaves",
    25: "rows leave before the block has attended",
    26: "a row is lost when the window becomes just full",
    27: "a reset cache is not a new one",
    28: "truncating does not keep exactly the first tokens",
    29: "after truncating the next row lands in the wrong place",
    30: "truncating to where rows have left is accepted",
    31: "restoring a snapshot does not give the state back",
    32: "reordering mixes up the sequences of a batch",
    33: "sequences of a batch touch each other",
    34: "NaN or infinity is not stored as it is",
    35: "the number type changes",
    36: "rows of torch's meta device, which holds no numbers, are accepted",
    37: "rows that lie otherwise in memory are stored wrongly",
    38: "a row of zeros does not count",
    39: "blocks of the pool are lost, or have two owners",
    40: "a block shows rows that are not the text's own",
}
TOO_MUCH = "a row more than the capacity is accepted"
FITS = "rows that fit are refused"
INFINITE = "a number above the range of the cache's type becomes infinite"
SHARES = "caches share rows: a new one shows rows that another one was given"
ONE_ORDER = "a layer is refused until those before it have rows"
LENGTH = "a refused append changes the length"


def mechanism(verdict: Verdict) -> str:
    """What is broken, in words."""
    found = verdict.found
    if found is None:
        return BROKEN[verdict.rule]
    return _of_code(found) or _of_rule(verdict.rule, found) or BROKEN[verdict.rule]


def _of_code(found: Break) -> str:
    """Where it is no matter of the rule: "" else."""
    if found.expected == A_REASON:
        return f"where it should refuse, its code fails: {found.found}"
    if found.expected == AN_ANSWER:
        return f"a call never comes back: {found.found}"
    if found.aspect == SHARED:
        return SHARES
    if found.expected == "accepted" and found.found.startswith(NAME_ERRORS):
        return f"its code fails in a call that should be accepted: {found.found}"
    return ""


def _of_rule(rule: int, found: Break) -> str:
    """Where a rule can be broken in more than one way: "" else."""
    if rule == 9 and found.expected == "refused":
        return TOO_MUCH
    if rule in (7, 8) and found.expected == "accepted":
        return FITS
    if rule == 11 and found.aspect == "length":
        return LENGTH
    if rule == 20 and found.aspect == "refusal":
        return ONE_ORDER
    return INFINITE if rule == 35 and found.aspect == "contents" else ""


LIKE = {
    BROKEN[4]: "mask-unwritten",
    BROKEN[9]: "cap-early",
    TOO_MUCH: "cap-late",
    LENGTH: "cap-counter-first",
    BROKEN[16]: "store-alias-in",
    BROKEN[20]: "store-layers-share",
}
"""What is broken in a class, in words -> the fault of ours that does the same to a model's run."""


def as_json(verdicts: Sequence[Verdict], decoded: ModelTest | None = None) -> dict[str, Any]:
    """The whole report; `findings` are the roots, and what the model test found."""
    findings = [_finding(verdict) for verdict in verdicts if verdict.state == "fail"]
    told: dict[str, Any] = {"rules": [_rule_json(verdict) for verdict in verdicts]}
    if decoded is not None:
        if decoded.finding is not None:
            findings.append(_decoded_finding(decoded.finding))
        told["model_test"] = {
            "models": list(decoded.models),
            "also": list(decoded.also),
            "not_covered": list(decoded.not_covered),
        }
    return {**told, "findings": findings}


def not_driven_json(why: str, asked: Iterable[int]) -> dict[str, Any]:
    """The report of a class that could not be driven: no rule was asked."""
    titles = {rule.number: rule.title for rule in reversed(RULES)}
    rules = [
        {"rule": number, "state": "skipped", "title": titles[number], "why": why}
        for number in sorted(set(asked) or titles)
    ]
    return {"rules": rules, "findings": [], "cannot_be_driven": why}


def decoded_mechanism(found: DecodeFinding) -> str:
    """What the model test found, in words."""
    where = "" if found.layer is None else f" (first in layer {found.layer}, inferred)"
    return f"{found.model} decodes otherwise with this cache than without one{where}"


def _decoded_finding(found: DecodeFinding) -> dict[str, Any]:
    return {
        "mechanism": decoded_mechanism(found),
        "rule": None,
        "like": found.preset_like,
        "where": {
            "model": found.model,
            "capacity": found.capacity,
            "sinks": found.sinks,
            "step": found.step,
            "layer": found.layer,
        },
        "evidence": [
            f"tokens of each step: {list(found.blocks)}",
            *([found.what] if found.what else []),
            found.found,
        ],
    }


def _rule_json(verdict: Verdict) -> dict[str, Any]:
    told: dict[str, Any] = {"rule": verdict.rule, "state": verdict.state, "title": verdict.title}
    if verdict.root is not None:
        told["root"] = verdict.root
    if verdict.why:
        told["why"] = verdict.why
    if verdict.case is not None and verdict.found is not None:
        told["sequence"] = verdict.case.words()
        told["expected"] = verdict.found.expected
        told["found"] = verdict.found.found
        told["repair"] = verdict.repair
    return told


def _finding(verdict: Verdict) -> dict[str, Any]:
    assert verdict.case is not None  # noqa: S101  (a failure has a case)
    assert verdict.found is not None  # noqa: S101
    sequence = verdict.case.words()
    at = verdict.found.at
    return {
        "mechanism": mechanism(verdict),
        "rule": verdict.rule,
        "like": LIKE.get(mechanism(verdict)),
        "where": {
            "capacity": verdict.case.sizes.capacity,
            "call": None if at is None else at + 1,
            "aspect": verdict.found.aspect,
        },
        "evidence": [
            f"calls: {'; '.join(sequence)}",
            f"expected {verdict.found.expected}",
            f"found {verdict.found.found}",
        ],
    }
