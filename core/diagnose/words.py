"""What each mechanism is called, what speaks for it, and what would be seen if it was another.

The file is long because it is one table, to be read and corrected as a whole.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """Of one mechanism.

    Attributes:
        mechanism: what goes wrong.
        pattern: what all the wrong answers have in common.
        apart: what would be seen if it was this one.
        like: the mechanism that is most easily taken for it; None: none is.
    """

    mechanism: str
    pattern: str
    apart: str
    like: str | None = None


WORDS: dict[str, Words] = {
    # Position
    "pos-restart": Words(
        "position ids start again at 0: the past is not added",
        "the new tokens of each such call are numbered from 0",
        "the numbers of every call would begin at 0, the first decode included",
        "pos-memo",
    ),
    "pos-skip-single": Words(
        "a token that comes alone gets no position",
        "calls of one token are off, calls of several are not",
        "a token that is read alone twice would have the same key in layer 0 both times",
    ),
    "pos-wrong-axis": Words(
        "the past length is read from the heads axis",
        "the tokens read before are said to be as many as there are key heads",
        "the first number would be the number of key heads in every later call",
        "pos-memo",
    ),
    "pos-hole": Words(
        "the past count includes the current token",
        "one token more is said to be read before than was",
        "each number would be one too large, and slot P would never be written",
        "pos-wrong-axis",
    ),
    "pos-memo": Words(
        "position numbers are remembered by the length of the call alone",
        "each such call has the numbers of the last call of equal length",
        "the first call of each length would be right, and later ones repeat its numbers",
        "pos-restart",
    ),
    "pos-stale-prompt": Words(
        "the offset grows by the length of the call before the last",
        "each such number is the last offset and the length of the call before",
        "the second decode would jump by the length of the prompt",
        "pos-memo",
    ),
    "pos-layer-counter": Words(
        "layer 0 moves the token counter that later layers read",
        "layers from 1 on rotate single tokens one position further",
        "calls of several tokens would be right, and keys move as queries do, from layer 1 on",
        "pos-captured-alias",
    ),
    "pos-layer-prefill": Words(
        "layer 0 moves the token counter that later layers read, a prompt's tokens too",
        "layers from 1 on rotate each call as many positions further as it has tokens",
        "calls of several tokens would be rotated elsewhere as well, from layer 1 on",
        "pos-layer-counter",
    ),
    "pos-captured-alias": Words(
        "the saved offset moves: queries are rotated after the append has counted",
        "queries are rotated as many positions further as the call has tokens; keys are not",
        "only queries would be moved, in every layer",
        "pos-layer-counter",
    ),
    "pos-retained-rows": Words(
        "a position is the number of rows kept, not of tokens seen",
        "the tokens read before are said to be as many as the rows held",
        "the numbers would freeze once the window is full",
        "pos-memo",
    ),
    "pos-pad-mixed": Words(
        "padding is counted in decode and not in the prefill",
        "the tokens read before are said to be as many as the rows held, padding included",
        "the prefill would be right, and decoded tokens alone be numbered by their column",
        "pos-hole",
    ),
    "pos-pad-columns": Words(
        "padding is counted as positions, in the prefill as in decode",
        "each number is too large by the number of pads",
        "the first token of the prompt would have the number of pads for its position id",
        "pos-pad-mixed",
    ),
    "rope-on-read": Words(
        "stored keys are rotated again when they are read",
        "keys of earlier calls are changed, keys of the call itself are not",
        "stored keys would stay as they are, and those of earlier calls alone be turned when used",
        "rope-writeback-lost",
    ),
    "rope-write-back": Words(
        "stored keys are rotated again when they are read, and written back",
        "keys of earlier calls are changed, and the next call finds them changed",
        "what was read would itself be turned on from one call to the next, save at position 0",
        "rope-on-read",
    ),
    "rope-writeback-lost": Words(
        "attention uses the unrotated keys of its own call",
        "keys of the call itself are changed, keys of earlier calls are not",
        "keys of the call itself alone would differ from what was read",
        "rope-on-read",
    ),
    # Mask
    "mask-top-left": Words(
        "the causal mask is aligned top-left: row i of a call sees columns 0 to i",
        "row i of the mask is open for columns 0 to i, whatever came before",
        "the one visible row of a single token would be in column 0",
        "mask-own-block",
    ),
    "mask-own-block": Words(
        "the mask covers the new block only: the past is hidden",
        "only rows of the call itself are visible",
        "the one visible row of a single token would be its own, the newest",
        "mask-top-left",
    ),
    "mask-own-chunk": Words(
        "a chunk of a prompt does not see the chunks before it",
        "in calls of several tokens only rows of the call itself are visible",
        "calls of several tokens would be blind to the past, single tokens would not",
        "mask-own-block",
    ),
    "mask-off-with-cache": Words(
        "there is no causal mask once a cache is attached",
        "every row of the mask is open in calls of several tokens",
        "weights above the diagonal of a prefill would not be 0",
        "mask-pads-open",
    ),
    "mask-unwritten": Words(
        "the whole buffer takes part: slots that were never written are read",
        "all slots of the capacity are read, written or not",
        "slots from 0 to the capacity would be read in every call",
        "pos-hole",
    ),
    "mask-pads-open": Words(
        "padding is visible like any other row",
        "every query sees the columns of padding",
        "rows of padding would have weight, and all other columns be right",
        "mask-off-with-cache",
    ),
    "mask-nan-row": Words(
        "a row of padding has nothing to see: its softmax is 0 / 0",
        "queries of padding see no row at all",
        "the weights of padding would be NaN, and from layer 1 on every logit",
        "mask-pads-open",
    ),
    # Capacity
    "cap-early": Words(
        "the last slot cannot be used: fullness is tested one row early",
        "an append that just fills the cache counts as one row too many",
        "an append up to the capacity would be counted as too long",
        "cap-one-row-test",
    ),
    "cap-late": Words(
        "one row too many is let in: fullness is tested one row late",
        "an append is counted as one row less too many than it is",
        "a single row would be let in beside a full cache, and two rows too many be refused",
        "cap-one-row-test",
    ),
    "cap-counter-first": Words(
        "the row counter moves before the check: a refusal leaves it changed",
        "refused rows stay counted",
        "the length would grow in a refused step",
        "cap-late",
    ),
    "cap-one-row-test": Words(
        "the room test assumes one row: any append is let in while a slot is free",
        "the number of new rows plays no part in the test",
        "appends of several rows would pass while one slot is free, single rows be right",
        "cap-late",
    ),
    # Eviction
    "evict-newest": Words(
        "the newest old row leaves in place of the oldest",
        "the row before the new ones is gone, the first rows stay",
        "the set of tokens held would never slide",
        "evict-never",
    ),
    "evict-off-by-one": Words(
        "the window is one token too wide",
        "queries reach one token further back than the window",
        "one row more than the window would have weight, and the right rows be held",
        "evict-never",
    ),
    "evict-one-short": Words(
        "the window is one token too narrow",
        "queries reach one token less far back than the window",
        "one row less than the window would have weight",
        "cap-early",
    ),
    "evict-never": Words(
        "rows that have to leave are not dropped",
        "rows that should have left are still held",
        "the length would pass the capacity",
        "evict-off-by-one",
    ),
    "evict-before-attend": Words(
        "rows leave before the call has used them",
        "only the newest rows, as many as the window has, are read",
        "the first tokens of a chunk would miss the oldest rows they may read",
        "ring-start",
    ),
    "ring-start": Words(
        "the ring is read from the slot that is written next, though it is not full",
        "the slots read begin at the number of rows held, and go round",
        "reads would begin behind the newest row until the ring is full, then be right",
        "ring-shuffle",
    ),
    "ring-shuffle": Words(
        "the rows of a full ring are read in another order than that of their tokens",
        "the slots read are the right ones, turned by one",
        "the right rows would be read in another order once the ring is full",
        "ring-start",
    ),
    "sinks-lost": Words(
        "the sinks are evicted like any other row",
        "the oldest rows left, the protected first tokens among them",
        "the first tokens would leave as soon as the cache is full",
        "evict-newest",
    ),
    # Storage
    "store-row-zero": Words(
        "new rows are written from row 0 on, however many are held",
        "what was written so went to the start of the buffer, not to the slots meant for it",
        "row 0 would hold the newest token, and rows from P on nothing",
        "store-alias-in",
    ),
    "store-alias-in": Words(
        "the cache keeps the caller's memory, not a copy",
        "rows of single tokens that were written so hold the newest single token",
        "rows of single tokens would all be equal, from the second on",
        "store-row-zero",
    ),
    "store-alias-out": Words(
        "what the cache handed out is live, and was changed in place",
        "keys are those read before, divided by √D, where nothing was written; values are the same",
        "keys of earlier calls would shrink from read to read, and values stay",
        "store-alias-in",
    ),
    "store-write-lost": Words(
        "new rows are written to a copy: the buffer does not keep them",
        "of what was written so, no row came back",
        "rows would have values when they are handed to the store, and all of them read zero",
        "store-first-lost",
    ),
    "store-first-lost": Words(
        "token 0 is counted and not written",
        "row 0 was never written, all others were",
        "row 0 alone would read zero",
        "store-row-zero",
    ),
    "store-layers-share": Words(
        "all layers write to one buffer",
        "earlier rows of every layer but the last are not that layer's own",
        "earlier rows would be right in the last layer only",
        "store-grow-scramble",
    ),
    "store-double-append": Words(
        "the joined rows are appended to the old ones",
        "after the step the old rows are held twice",
        "the rows held would double at every step",
        "evict-never",
    ),
    "store-grow-scramble": Words(
        "growing the buffer keeps the flat order of its numbers, not the rows",
        "rows from before the buffer grew are not found any more",
        "rows written before the growth would be wrong from then on, later ones right",
        "store-layers-share",
    ),
    "store-stale-reset": Words(
        "a new prompt forgets rows but not the count of tokens",
        "the tokens of the text before count as read",
        "the first number of a new prompt would be the length of the text before",
        "prefix-last-twice",
    ),
    "store-uneven": Words(
        "keys and values of different number are accepted",
        "an append was let in with fewer values than keys",
        "only appends of uneven keys and values would be wrong",
        "cap-late",
    ),
    # Beams
    "beam-no-reorder": Words(
        "beams swap tokens and not rows",
        "the beam still has the rows of its own old text, keys and values",
        "keys and values would both be those of the beam's old text",
        "beam-keys-only",
    ),
    "beam-keys-only": Words(
        "beams swap keys and not values",
        "keys are those of the parent, values those of the beam's own old text",
        "keys would be the parent's, values the beam's own",
        "beam-no-reorder",
    ),
    # Rollback and reuse
    "spec-no-rollback": Words(
        "rejected tokens stay: nothing is taken back",
        "all rows are still held",
        "the length would be too large by all tokens that were taken back",
        "spec-short",
    ),
    "spec-short": Words(
        "one token too few is taken back",
        "the first of the tokens to go is still held",
        "the length would be too large by exactly one, however many are taken back",
        "spec-no-rollback",
    ),
    "spec-reset": Words(
        "taking tokens back empties the cache",
        "nothing is held any more",
        "the length would be 0 after tokens were taken back",
        "spec-no-rollback",
    ),
    "prefix-last-twice": Words(
        "all rows of a known prompt are kept, and its last token is run again",
        "every known row of the prompt was kept, its last one included",
        "only a prompt that is known to its end would be wrong; rejected drafts be taken back",
        "spec-short",
    ),
    # Heads and numbers
    "gqa-tile": Words(
        "key heads are repeated in the wrong order: tiled, not interleaved",
        "query head h reads key head h mod Hkv",
        "query heads 0 and H − 1 would be right, those between read another key head",
    ),
    "quant-floor": Words(
        "the scale of an 8-bit row is never below 1",
        "stored rows are whole numbers, and small ones are gone",
        "stored rows would be small whole numbers",
        "quant-no-descale",
    ),
    "quant-no-descale": Words(
        "8-bit rows are read without their scale",
        "the largest number of every stored row is 127",
        "the largest number of every stored row would be 127",
        "quant-floor",
    ),
    "quant-zero-scale": Words(
        "8-bit rows have a scale of zero",
        "rows are zero already when they are handed to the store",
        "every number of every stored row would be 0",
        "store-write-lost",
    ),
    "gauge-lies": Words(
        "the reported length counts dropped tokens",
        "the length told is the number of tokens seen, less the capacity once it is passed",
        "the length told alone would be wrong, the rows held right",
        "evict-never",
    ),
}
"""By the id of a fault that works like it."""

UNKNOWN = "no known mechanism fits"
UNDECIDED = "could give this, and so could others"
"""What stands behind those that explain a run where it sets none of them apart."""
