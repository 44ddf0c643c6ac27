"""The runs that several faults share: the classic example is the eighth token.

A prompt of seven tokens that ends inside a question, so that the first decode reads token 7.
"""

from core.faults.fault import Scenario
from core.spec import Decode, Probe, Rollback

SEVEN_TOKENS = "The kite is outside. Where is"

DECODING = Scenario(SEVEN_TOKENS, capacity=12, steps=5)
FILLING = Scenario(SEVEN_TOKENS, capacity=12, steps=6)
ROOMY = Scenario(SEVEN_TOKENS, capacity=64, steps=8)
ONE_PREFILL = Scenario(SEVEN_TOKENS, capacity=12, steps=0)
ONE_DECODE = Scenario(SEVEN_TOKENS, capacity=12, steps=1)
EXACT_PREFILL = Scenario(SEVEN_TOKENS, capacity=7, steps=0)
REFUSED_THEN_ROLLED_BACK = Scenario(
    SEVEN_TOKENS, capacity=12, steps=0, then=(*(Decode(),) * 6, Rollback(3), Decode(), Decode())
)
UNEVEN_PROBE = Scenario(
    SEVEN_TOKENS,
    capacity=12,
    steps=0,
    then=(Decode(), Probe(n_keys=2, n_values=1), Decode(), Decode()),
)
