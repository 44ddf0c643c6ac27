"""All rows of a known prompt are kept, and its last token is run again."""

from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import prefix_hit
from core.faults.scenarios import DECODING, SAME_PREFIX_AGAIN


def all_that_is_common(n_common: int, n_prompt: int) -> int:
    """Keep every row that both texts have, even if that is all of the prompt."""
    return n_common


FAULT = Fault(
    id="prefix-last-twice",
    title="The last prompt token is run again",
    symptom="a known prompt reads as if its last token stood there twice; fill P + 1",
    mechanism="full prefix hit: one token must run, but the cache is not shortened",
    tier="A",
    patch=Seams(reusable=all_that_is_common),
    shows_in=SAME_PREFIX_AGAIN,
    promise=Promise(
        step=3,
        field="length",
        first_wrong_logits=3,
        layer=None,
        verdicts=("policy", "logits"),
    ),
    hides_in=DECODING,
    why_hidden="no prompt comes twice",
    repair="shorten the cache to P − 1 first, then run the last token",
    sources=(
        "lablup/mlxcel#1760",
        "oobabooga/textgen#4145",
        "vllm-project/vllm#3239",
    ),
    lacks=prefix_hit,
)
