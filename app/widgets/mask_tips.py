"""What a cell of a mask says in words."""

from collections.abc import Iterator

from core.arrays import IntArray
from core.readouts.mask import MaskReadout


def sight_words(readout: MaskReadout, query: int, place: int) -> str:
    """Whether a query sees a row, and whether it should."""
    used = "seen" if readout.used[query, place] else "masked"
    if readout.is_judged[query] and readout.used[query, place] != readout.expected[query, place]:
        return f"{used}, should {'' if readout.expected[query, place] else 'not '}be seen"
    return used


def mask_tip(readout: MaskReadout, query: int, places: IntArray) -> Iterator[str]:
    """Query, slot, token, position and sight, a line each; `places`: the columns of the slot."""
    asked, column = readout.queries[query], readout.columns[int(places[0])]
    if column.token_index is None:
        row = "a row never written" if column.is_unwritten else "a row of no token"
    else:
        row = f"token {column.token_index} ‘{column.text}’"
    yield f"query: token {asked.token_index} ‘{asked.text}’"
    yield f"slot {column.slot}: {row}"
    if column.claimed_token_index not in (None, column.token_index):
        claim = f"token {column.claimed_token_index}, position id {column.position_id}"
        yield f"the ledger claims {claim}"
    elif column.position_id is not None:
        yield f"position id {column.position_id}"
    yield from _sight(readout, query, places)


def _sight(readout: MaskReadout, query: int, places: IntArray) -> Iterator[str]:
    used, right = (int(told[query, places].sum()) for told in (readout.used, readout.expected))
    if len(places) > 1:
        yield f"read {len(places)} times, seen {used} times"
    else:
        yield "seen" if used else "masked"
    if not readout.is_judged[query]:
        yield "verdict pending" if readout.is_pending else "not judged"
    elif used != right and len(places) > 1:
        yield f"should be seen {'once' if right == 1 else f'{right} times'}"
    elif used != right:
        yield "should be seen" if right else "should not be seen"
