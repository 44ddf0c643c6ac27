"""What to change, in words that fit what was found and how a class holds its rows."""

from collections.abc import Mapping
from typing import Literal

from core.contract.plan import Plan
from core.contract.rule import A_REASON, AN_ANSWER, SHARED, Break, Rule

Holding = Literal["ring", "placed", "grown"]
"""The oldest rows leave; rows go where a position says; rows are joined without a limit."""

OF_HOLDING: Mapping[Holding, Mapping[int, str]] = {
    "ring": {
        1: "start with no token seen, and show no row of the ring before one is written to it",
        2: "show min(seen, window) rows of keys and of values, along the axis of rows",
        3: "write a token to its own row of both rings, and read the rows in the order of the text",
        4: "until the ring is full, show only the rows that were written, in the order of the text",
        6: "write onto a held row only once its token has left the window",
        13: "move the write place by the rows of k; do not take an empty array for a row",
        14: "with a window of 1 show the newest row alone",
        28: "count seen back to t in every layer, and the write place with it; refuse a t that is "
        "not between 0 and what was seen",
        29: "write the next row where token t belongs, and count it as token t",
    },
    "placed": {
        3: "write each new row, of keys and of values, at the position that comes with it",
        6: "write at the positions that are given, and nowhere else",
        9: "refuse a position that is not below the capacity, and no other",
        11: "compare the positions with the capacity before anything is written",
    },
    "grown": {
        2: "join new rows to keys and to values alike, along the axis of rows",
        3: "join the new rows behind those that are held, keys to keys and values to values",
        4: "return the rows that were joined, and none that a larger buffer has beyond them",
        6: "keep the held rows as they are where room is made for more",
        29: "cut keys and values to t rows, and join the next row behind them",
    },
}
"""Where the words of the rule itself are about a buffer with a length."""

OF_SHARED = "make the arrays and lists in the constructor, for each cache, not in the class"
OF_ORDER = "make room for a layer when its first rows come, whichever layer that is"
OF_FALL = "make the call that is told last come to an end"
OF_MISTAKE = "raise an error of your own, such as ValueError, before anything is changed"


def holding(plan: Plan) -> Holding | None:
    """How a class holds its rows; None: in a buffer that is filled from its start."""
    if plan.policy == "window":
        return "ring"
    if plan.surface.takes_positions:
        return "placed"
    return "grown" if plan.policy == "unbounded" else None


def repair_of(plan: Plan, rule: Rule, found: Break) -> str:
    """What to change in this class, which breaks a rule in this way."""
    if found.aspect == SHARED:
        return OF_SHARED
    if found.expected == AN_ANSWER:
        return OF_FALL
    if found.expected == A_REASON:
        return OF_MISTAKE
    if rule.number == 20 and found.aspect == "refusal":
        return OF_ORDER
    kind = holding(plan)
    return rule.repair if kind is None else OF_HOLDING[kind].get(rule.number, rule.repair)
