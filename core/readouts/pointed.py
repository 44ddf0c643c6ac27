"""What the mouse is over, in words."""

from core.readouts.run_view import RunView
from core.selection import Selection


def pointed_words(view: RunView, pointed: Selection) -> str:
    """The four numbers of a token, then layer and head where they are not those looked at."""
    at = view.selection
    parts = [] if pointed.step == at.step else [f"step {pointed.step}"]
    step = pointed.step if 0 <= pointed.step < len(view.records) else at.step
    token_index, position_id = pointed.token_index, pointed.position_id
    if token_index is not None:
        known_position, _ = view.history.numbers(step)(token_index)
        position_id = known_position if position_id is None else position_id
        token = view.history.text(step).get(token_index)
        text = "" if token is None else f" '{view.token_text(token.token_id)}'"
        parts.append(f"token {token_index}{text}")
    if pointed.slot is not None:
        parts.append(f"slot {pointed.slot}")
    if position_id is not None:
        parts.append(f"position {position_id}")
    if pointed.layer != at.layer:
        parts.append(f"layer {pointed.layer}")
    if pointed.head != at.head:
        parts.append(f"head {pointed.head}")
    return " · ".join(parts)
