"""What a cell of an attention image says in words."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.widgets import code_image
from core.readouts.attention import AttentionReadout
from core.readouts.attention_keys import KeyLabel


def weight_tip(
    readout: AttentionReadout, row: int, key: KeyLabel, code: int, weight: float
) -> Iterator[str]:
    """Layer and head, query, key and weight of a cell of the enlarged head, a line each."""
    query = readout.queries[row]
    yield f"layer {readout.layer}, head {readout.head}"
    yield f"query: token {query.token_index} ‘{query.text}’, step {query.step}"
    yield f"key: {key_words(key)}"
    if key.is_foreign and key.claimed_token_index is not None:
        yield f"the ledger claims token {key.claimed_token_index}"
    words = code_words(code, weight, is_read=key.is_read)
    if code in (code_image.MASKED, code_image.NEVER_WRITTEN):
        yield words
    elif key.n_read > 1:
        yield f"weights {words} together"
    else:
        yield f"weight {words}"


def code_words(code: int, weight: float, *, is_read: bool) -> str:
    """What a cell says: the weight in full, or why there is none."""
    if code == code_image.MASKED:
        return "masked" if is_read else "not read"
    return "not there yet" if code == code_image.NEVER_WRITTEN else repr(weight)


def part_words(slots: NDArray[np.int64], n_slots: int) -> tuple[str, str]:
    """Which slots are shown, in full and short; empty where all of them are."""
    n_shown = len(slots)
    if not 0 < n_shown < n_slots:
        return "", ""
    in_order = bool((slots[1:] - slots[:-1] == 1).all())
    part = f"{slots[0]}–{slots[-1]}" if in_order else f"{n_shown}"
    noun = "slots " if in_order else ""
    return f"{noun}{part} of {n_slots:,}{'' if in_order else ' slots'}", f"{part} of {n_slots:,}"


def key_words(key: KeyLabel) -> str:
    """What a key was when it was read; if it was not, what its column stands for."""
    if not key.is_read:
        return f"token {key.claimed_token_index}" if key.slot is None else f"slot {key.slot}"
    rows = f", {key.n_read} rows" if key.n_read > 1 else ""
    if key.token_index is not None:
        return f"slot {key.slot}, token {key.token_index} ‘{key.text}’{rows}"
    return f"slot {key.slot}, {'never written' if key.is_unwritten else 'a row of no token'}{rows}"
