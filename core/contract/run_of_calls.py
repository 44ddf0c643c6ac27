"""A sequence of calls as steps of a small model whose keys and values the class keeps.

Only calls that a decode loop makes have a place there: rows are added, taken back, forgotten.
"""

from collections.abc import Sequence

from core.contract.calls import Append, Ask, Call, Rows, Sizes
from core.contract.decode import MODELS, DecodeFinding
from core.contract.plan import Plan
from core.contract.rule import Case
from core.contract.run_plan import Act, RunPlan

MODEL = "tiny-learned"
"""Whose rows stand for those of a rule's sequence."""
N_PROMPT, N_DECODED = 5, 2
N_CTX = 256
"""Tokens that it can read."""


def run_of_case(case: Case, plan: Plan) -> RunPlan | None:
    """The calls of a rule's sequence with rows of a model; None: a decode loop makes no such call.

    Of several layers the first one's calls count: a model adds rows to all of them in each step.
    """
    if case.sizes.capacity < 1 or case.sizes.batch != 1:
        return None
    layers = [call.layer for call in case.calls if isinstance(call, Append)]
    acts: list[Act] = []
    for call in case.calls:
        if isinstance(call, Append) and call.layer != layers[0]:
            continue
        act = _act(call, case.sizes)
        if act is None:
            return None
        acts += act
    is_odd = plan.policy != "refuse" and any(act.name == "probe" for act in acts)
    more = () if any(act.name == "read" for act in acts) else _some(case.sizes.capacity)
    run = RunPlan(MODEL, case.sizes.capacity, case.sizes.sinks, (*acts, *more), n_more=len(more))
    return None if is_odd or run.n_tokens > N_CTX else run


def run_of_finding(found: DecodeFinding) -> RunPlan | None:
    """The run in which the model test went wrong; None: of several texts, of 16-bit rows, or of a
    model that was made in the sizes of the class.
    """  # noqa: D205  (one sentence)
    if found.what or found.model not in MODELS:
        return None
    acts = tuple(Act("read", n) for n in found.blocks)
    return RunPlan(found.model, found.capacity, found.sinks, acts, is_of_model_test=True)


def _some(capacity: int) -> tuple[Act, ...]:
    """A prompt and a few single tokens, as many as there is room for."""
    n_prompt = max(1, min(N_PROMPT, capacity - N_DECODED))
    n_decoded = max(0, min(N_DECODED, capacity - n_prompt))
    return (Act("read", n_prompt), *(Act("read", 1) for _ in range(n_decoded)))


def _act(call: Call, sizes: Sizes) -> Sequence[Act] | None:
    """What a call is in a model's run: nothing where it only looks; None: it has no place there."""
    if isinstance(call, Append):
        n, n_values = len(call.k.tokens), len(call.v.tokens)
        if not (n and n_values and _is_plain(call, sizes)):
            return None
        return [Act("read", n)] if n == n_values else [Act("probe", n, n_values)]
    return _of_ask(call)


def _of_ask(call: Ask) -> Sequence[Act] | None:
    if call.call in ("read", "length", "seen"):
        return []
    if call.call == "truncate":
        return [Act("truncate", call.n)] if call.n >= 0 else None
    return [Act("reset")] if call.call == "reset" else None


def _is_plain(call: Append, sizes: Sizes) -> bool:
    """Whether a model could have given these rows, but for how many there are."""

    def is_plain(rows: Rows, d: int) -> bool:
        usual = (sizes.n_heads, sizes.batch, sizes.dtype, d, "plain")
        found = (rows.n_heads, rows.batch, rows.dtype, rows.d, rows.kind)
        return found == usual and rows.fill is None and not rows.special

    return call.scratch is None and is_plain(call.k, sizes.d_k) and is_plain(call.v, sizes.d_v)
