"""Arguments of a constructor as a person types them."""

import ast
from typing import Any

from core.contract.subject import NotDrivableError


def constructor_arguments(text: str | None) -> dict[str, Any]:
    """The values of "max_len=8, d_k=4".

    Raises:
        NotDrivableError: it is no list of names and plain values.
    """
    if not text:
        return {}
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) and not call.args else []
        values = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords}
    except (SyntaxError, ValueError) as error:
        raise NotDrivableError(
            f"--args {text!r} cannot be read: write names and plain values, such as "
            '"max_len=8, d_k=4, d_v=4"'
        ) from error
    if not values or "None" in values:
        raise NotDrivableError(f"--args {text!r} has no names: write max_len=8, d_k=4, d_v=4")
    return values
