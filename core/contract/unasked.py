"""Why a rule has nothing to ask of a class."""

from core.contract.plan import Declared, Plan

WHY_LACKING = {
    "blocks": "it shows no blocks of a pool; an adapter with blocks() and block_size can",
}
"""What is lacking -> why a rule is not asked; the name says enough for the rest."""

DECLARED_OUT: dict[Declared, tuple[int, ...]] = {"live_views": (18,), "whole_buffer": (1, 2, 4)}
"""Rules that are not asked of a class which declares to be otherwise."""


def why_none(plan: Plan, rule: int) -> str:
    """The reason, in words."""
    if rule in (9, 10, 12, 14, 15) and (why := _why_no_capacity(plan, rule)):
        return why
    if plan.policy != "window" and rule in (*range(22, 27), 30):
        return "it lets no rows go"
    if rule in (20, 21):
        return "one object is one layer"
    if rule in (32, 33):
        refused = f"it takes one sequence; two are refused: {plan.no_batch}"
        return refused if plan.no_batch else "its arrays have no axis of sequences"
    if rule == 24:
        return "its constructor takes no number of first rows that stay"
    if rule == 25 and not plan.gives_back:
        return "adding rows gives nothing back: what a block attends to is not seen"
    return "it does not apply to this class"


def _why_no_capacity(plan: Plan, rule: int) -> str:
    if "capacity" not in plan.surface.roles and rule in (14, 15):
        return "its constructor takes no capacity"
    if plan.policy != "refuse":
        full = "lets rows go" if plan.policy == "window" else "grows"
        end = "no end was met" if plan.has_no_known_end else f"when it is full, it {full}"
        return "" if rule in (14, 15) else end
    if plan.own_capacity is None:
        return ""
    return f"its capacity is told nowhere; {plan.own_capacity} rows were found by trying"
