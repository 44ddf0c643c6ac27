"""A token of the three rows in words."""

from core.readouts.tokens import TokenCell


def query_name(token_index: int, text: str) -> str:
    """The number and the letters of a token that a step computed; padding has neither."""
    return "padding" if token_index < 0 else f"{token_index} {text}"


def told(cell: TokenCell | None) -> str:
    """A cell of the table."""
    if cell is None:
        return ""
    source = _asked(cell) if _asked(cell) else "" if cell.state == "read" else cell.state
    wrong = "wrong" if cell.is_wrong else _missed(cell)
    notes = ", ".join(note for note in (source, wrong) if note)
    return f"‘{cell.text}’" + (f" ({notes})" if notes else "")


def tip_of(cell: TokenCell, *, is_right: bool) -> str:
    """Its numbers in full; `is_right`: whether it stands in the row of right tokens."""
    if cell.state == "pending":
        return f"token {cell.token_index}\nthe verdict of step {cell.step} is pending"
    if is_right:
        how = f"right after step {cell.step}"
    elif cell.state == "read":
        how = f"read in step {cell.step}"
    elif cell.state == "refused":
        how = f"refused in step {cell.step}"
    else:
        how = f"chosen in step {cell.step}, not read yet"
    source = "prompt" if cell.is_prompt else _asked(cell)
    lines = [f"‘{cell.text}’ · id {cell.token_id}", f"token {cell.token_index}", how, source]
    if cell.is_wrong:
        lines.append("not the right token")
    lines.append(_missed(cell))
    return "\n".join(line for line in lines if line)


def _asked(cell: TokenCell) -> str:
    """Why the engine did not have the choice; empty: it had."""
    if cell.rank is not None:
        return f"number {cell.rank + 1} of the best, for beam {cell.rank}"
    return "forced" if cell.is_forced else ""


def _missed(cell: TokenCell) -> str:
    """What the engine would have chosen in the place of a right token; empty: nothing else."""
    return "" if cell.missed is None else f"the engine would say ‘{cell.missed}’"
