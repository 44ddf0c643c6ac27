"""The runs that several faults share: the classic example is the eighth token.

A prompt of seven tokens that ends inside a question, so that the first decode reads token 7. The
rest of the question is forced, so that its answer, predicted at step 3, stands at the same place
whatever is broken. `resources/start/find_prompt.py` found it.
"""

from core.faults.fault import Scenario
from core.spec import Decode, NewPrompt, Probe, Reorder, Rollback, Verify

SEVEN_TOKENS = "Mia outside. Sam inside. Where"
REST = " is Mia?"
ANSWER_STEP = 3
ANSWER_SOURCE = 1
"""Token index of the word that answers the question: not in slot 0, which a mask that is taken
from row 0 leaves visible."""

DECODING = Scenario(SEVEN_TOKENS, capacity=12, steps=5, rest=REST)
NAME_AGAIN = Scenario(SEVEN_TOKENS, capacity=12, steps=5, rest=f"{REST} Mia")
"""The name is read alone twice, at two places."""
FILLING = Scenario(SEVEN_TOKENS, capacity=12, steps=6, rest=REST)
ROOMY = Scenario(SEVEN_TOKENS, capacity=64, steps=8, rest=REST)
ONE_BY_ONE = Scenario(SEVEN_TOKENS, capacity=12, steps=5, chunk=1, rest=REST)
ONE_PREFILL = Scenario(SEVEN_TOKENS, capacity=12, steps=0, rest=REST)
ONE_DECODE = Scenario(SEVEN_TOKENS, capacity=12, steps=1, rest=REST)
EXACT_PREFILL = Scenario(SEVEN_TOKENS, capacity=7, steps=0, rest=REST)
REFUSED_THEN_ROLLED_BACK = Scenario(
    SEVEN_TOKENS,
    capacity=12,
    steps=0,
    then=(*(Decode(),) * 6, Rollback(3), Decode(), Decode()),
    rest=REST,
)
UNEVEN_PROBE = Scenario(
    SEVEN_TOKENS,
    capacity=12,
    steps=0,
    then=(Decode(), Probe(n_keys=2, n_values=1), Decode(), Decode()),
    rest=REST,
)
ONE_ROW_TOO_MANY = Scenario(
    SEVEN_TOKENS,
    capacity=12,
    steps=0,
    then=(*(Decode(),) * 4, Probe(n_keys=2, n_values=2), Decode()),
    rest=REST,
)
WITH_A_ROW_TO_SPARE = Scenario(SEVEN_TOKENS, capacity=16, steps=6, rest=REST)
SAME_PROMPT_AGAIN = Scenario(
    SEVEN_TOKENS,
    capacity=12,
    steps=0,
    then=(Decode(), Decode(), NewPrompt(()), Decode()),
    rest=REST,
)

WINDOW = Scenario(SEVEN_TOKENS, capacity=8, steps=5, policy="window", rest=REST)
"""The first row leaves after step 2: token 8 is the ninth."""
WIDE_WINDOW = Scenario(SEVEN_TOKENS, capacity=32, steps=5, policy="window", rest=REST)
RING = Scenario(SEVEN_TOKENS, capacity=10, steps=5, policy="window", rest=REST)
NARROW_CHUNKS = Scenario(SEVEN_TOKENS, capacity=4, steps=4, policy="window", chunk=3, rest=REST)
SINKS = Scenario(SEVEN_TOKENS, capacity=8, steps=5, policy="sinks", sinks=2, rest=REST)
WIDE_SINKS = Scenario(SEVEN_TOKENS, capacity=32, steps=5, policy="sinks", sinks=2, rest=REST)

SEVEN_BYTES = "the kit"
"""Seven tokens of the models whose tokens are bytes."""
ROPE_DECODING = Scenario(SEVEN_BYTES, capacity=12, steps=5, model="tiny-rope")
ROPE_ONE_PREFILL = Scenario(SEVEN_BYTES, capacity=12, steps=0, model="tiny-rope")
ROPE_ONE_DECODE = Scenario(SEVEN_BYTES, capacity=12, steps=1, model="tiny-rope")

DRAFTS = Scenario(
    SEVEN_TOKENS,
    capacity=16,
    steps=0,
    then=(Decode(), Verify((31, 14, 14), n_accept=1), Decode(), Decode()),
    rest=" is Mia",
)
"""Three drafts, of which the question mark is right and two full stops are not."""
NO_DRAFTS = Scenario(SEVEN_TOKENS, capacity=16, steps=5, rest=REST)
SAME_PREFIX_AGAIN = Scenario(
    SEVEN_TOKENS,
    capacity=12,
    steps=0,
    then=(Decode(), Decode(), NewPrompt((), reuse_prefix=True), Decode()),
    rest=REST,
)
GROWING = Scenario(SEVEN_TOKENS, capacity=16, steps=5, rest=REST, growable=True)
"""Eight rows at first; token 8 needs a ninth."""
GROWN_ONCE = Scenario(SEVEN_TOKENS, capacity=16, steps=1, rest=REST, growable=True)
NARROW = Scenario(SEVEN_TOKENS, capacity=12, steps=5, rest=REST, kv_dtype="int8")
PADDED = Scenario(SEVEN_TOKENS, capacity=16, steps=0, then=(Decode(),) * 5, rest=REST, n_pad=3)
"""As in a batch with a prompt of ten tokens."""
CHUNKED = Scenario(SEVEN_TOKENS, capacity=12, steps=5, chunk=3, rest=REST)
BEAMS = Scenario(
    SEVEN_TOKENS,
    capacity=12,
    steps=0,
    then=(Decode(), Reorder((1, 0)), Decode(), Decode()),
    n_sequences=2,
)
"""Two beams, one step of each in turn; step 4 lets each go on from the other."""
BEAMS_IN_PLACE = Scenario(
    SEVEN_TOKENS,
    capacity=12,
    steps=0,
    then=(Decode(), Reorder((0, 1)), Decode(), Decode()),
    n_sequences=2,
)
