"""What a function of a user's own answers is looked at before the engine uses it.

Such a function may raise, or answer what no rule of its seam could. Either ends the run with a
message that names the file, the line and the seam. It cannot be kept from never coming back.
"""

import functools
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from types import TracebackType
from typing import Any, get_args

import numpy as np

from core.arrays import IntArray
from core.engine.types import Ledger
from core.errors import CoreError, FaultError
from core.outcome import Outcome
from core.readouts.words import plural

_MOST = 1 << 24
"""Slots and position ids are below this: tables are made that reach up to the largest one."""
_FEW = 13
_LEDGER_LISTS = ("slot", "token_index", "position_id", "token_id")


@dataclass(frozen=True, slots=True)
class Where:
    """Where a function of a user's own stands.

    Attributes:
        name: of the file, for messages.
        code_name: of the file, as its code knows it.
        line: the function's first line.
        seam: the decision that it takes.
    """

    name: str
    code_name: str
    line: int
    seam: str

    def at(self, trace: TracebackType | None = None) -> str:
        """The file, with the last of its lines that a traceback is about, or the function's."""
        return f"{self.name}, line {last_line(trace, self.code_name) or self.line}"


_Answer = Any
"""What somebody's function answers: anything, until it was looked at."""
_Given = tuple[Any, ...]
"""What a seam was given."""


class _Unusable(Exception):  # noqa: N818 - never leaves this file
    """What would do instead of an answer."""


def last_line(trace: TracebackType | None, code_name: str) -> int | None:
    """The innermost line of a file in a traceback; None: it is not in there."""
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code_name:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def guarded(function: Callable[..., Any], where: Where) -> Callable[..., Any]:
    """The same function, which raises FaultError where it fails or its answer cannot be used."""
    check = _CHECKS[where.seam]

    @functools.wraps(function)
    def asked(*given: _Answer) -> _Answer:
        try:
            with redirect_stdout(sys.stderr):  # out of the way of JSON
                answer = function(*given)
        except (Exception, SystemExit) as error:
            raise FaultError(
                f"{where.at(error.__traceback__)}: the function for the seam {where.seam} raised "
                f"{type(error).__name__}: {error}"
            ) from error
        try:
            return check(answer, given)
        except _Unusable as wanted:
            raise FaultError(
                f"{where.at()}: the seam {where.seam} must answer {wanted}, not {_shown(answer)}"
            ) from None

    return asked


@contextmanager
def blaming(own: Sequence[Where]) -> Generator[None, None, None]:
    """Where a user's functions are on, what goes wrong inside is told as of their making."""
    try:
        yield
    except (CoreError, OSError):  # what is written cannot be taken: no function had a part in it
        raise
    except Exception as error:
        if not own:
            raise
        places = ", or ".join(f"{where.at()} (seam {where.seam})" for where in own)
        raise FaultError(
            f"{places}: what it answers cannot be used: {type(error).__name__}: {error}"
        ) from error


def _shown(answer: _Answer) -> str:
    kind = type(answer).__name__
    if not isinstance(getattr(answer, "shape", None), tuple):
        text = f"{' '.join(repr(answer).split()):.60}"
        return text if isinstance(answer, int | None) else f"{text} ({kind})"
    numbers = f", {answer.tolist()}" if answer.ndim == 1 and len(answer) < _FEW else ""
    return f"{kind} of shape {tuple(answer.shape)} and {answer.dtype}{numbers}"


def _is_a(answer: _Answer, *kinds: type) -> bool:
    """Whether it is of one of these: no more than that is known of it afterwards."""
    return isinstance(answer, kinds)


def _number(answer: _Answer, given: _Given) -> int:
    is_whole = _is_a(answer, int, np.integer) and not _is_a(answer, bool)
    if not is_whole or not 0 <= int(answer) < _MOST:
        raise _Unusable(f"a whole number from 0 to {_MOST - 1}")
    return int(answer)


def _ids(answer: _Answer, n: int | None) -> IntArray:
    """[n] whole numbers from 0 on; n None: any number of them."""
    is_right = (
        _is_a(answer, np.ndarray)
        and answer.ndim == 1
        and answer.dtype.kind in "iu"
        and n in (None, len(answer))
        and bool(((answer >= 0) & (answer < _MOST)).all())
    )
    if not is_right:
        numbers = "any number of whole numbers" if n is None else plural(n, "whole number")
        raise _Unusable(f"an array of {numbers}, each from 0 to {_MOST - 1}")
    ids: IntArray = answer.astype(np.int64, copy=False)
    return ids


def _id_pair(answer: _Answer, given: _Given) -> tuple[IntArray, IntArray]:
    n = len(given[0])
    if not _is_a(answer, tuple) or len(answer) != 2:
        raise _Unusable(f"a pair of arrays, each of {plural(n, 'whole number')}")
    queries, keys = answer
    return _ids(queries, n), _ids(keys, n)


def _truths(answer: _Answer, shape: tuple[int, ...]) -> object:
    if np.shape(answer) != shape or getattr(answer, "dtype", None) != np.bool_:
        raise _Unusable(f"an array of true and false of shape {shape}")
    return answer


def _tensor(answer: _Answer, shape: tuple[int, ...], like: _Answer) -> object:
    import torch

    if (
        not isinstance(answer, torch.Tensor)
        or tuple(answer.shape) != shape
        or (answer.dtype, answer.device) != (like.dtype, like.device)
    ):
        raise _Unusable(f"a tensor of shape {shape} and {like.dtype} on {like.device}")
    return answer


def _buffers(answer: _Answer, given: _Given) -> tuple[object, ...]:
    n_layers, shape, like = given
    if not _is_a(answer, tuple, list) or len(answer) != n_layers:
        raise _Unusable(f"a tuple of {n_layers} tensors, one for each layer")
    return tuple(_tensor(buffer, tuple(shape), like) for buffer in answer)


def _ledger(answer: _Answer, given: _Given) -> Ledger:
    if not isinstance(answer, Ledger):
        raise _Unusable("a Ledger")
    for name in ("capacity", "length", "seen", "origin"):
        value = getattr(answer, name)
        if not isinstance(value, int) or not 0 <= value < _MOST:
            raise _Unusable(f"a Ledger whose {name} is a whole number from 0 to {_MOST - 1}")
    lists: list[_Answer] = [getattr(answer, name) for name in _LEDGER_LISTS]
    if not all(_is_a(each, np.ndarray) and each.dtype == np.int64 for each in lists):
        raise _Unusable(f"a Ledger with arrays of whole numbers in {', '.join(_LEDGER_LISTS)}")
    if len({np.shape(each) for each in lists}) != 1 or np.ndim(answer.slot) != 1:
        raise _Unusable(f"a Ledger with as many entries in each of {', '.join(_LEDGER_LISTS)}")
    if (answer.slot < 0).any() or (answer.slot >= _MOST).any():
        raise _Unusable(f"a Ledger whose slots are whole numbers from 0 to {_MOST - 1}")
    return answer


def _admitted(answer: _Answer, given: _Given) -> tuple[Ledger, object]:
    if not _is_a(answer, tuple) or len(answer) != 2:
        raise _Unusable("a pair: a Ledger, and OK or Refused(needed, free)")
    ledger, outcome = answer
    if not isinstance(outcome, get_args(Outcome)):
        raise _Unusable("a pair: a Ledger, and OK or Refused(needed, free)")
    return _ledger(ledger, given), outcome


def _nothing(answer: _Answer, given: _Given) -> None:
    if answer is not None:
        raise _Unusable("nothing: it writes into what it is given")


def _repeated(answer: _Answer, given: _Given) -> object:
    heads, n_rep = given
    *before, n_heads, n_rows, d_head = heads.shape
    return _tensor(answer, (*before, n_heads * n_rep, n_rows, d_head), heads)


_CHECKS: dict[str, Callable[[Any, _Given], Any]] = {
    "reset": _ledger,
    "reusable": _number,
    "overflow": _number,
    "admit": _admitted,
    "past_len": _number,
    "position_ids": lambda answer, given: _ids(answer, given[1]),
    "layer_position_ids": _id_pair,
    "add_positions": lambda answer, given: _tensor(answer, tuple(given[1].shape), given[1]),
    "next_slots": lambda answer, given: _ids(answer, given[1]),
    "slot_mapping": lambda answer, given: _ids(answer, len(given[0])),
    "allocate": _buffers,
    "grow": lambda answer, given: _tensor(
        answer, (*given[0].shape[:2], given[1], given[0].shape[3]), given[0]
    ),
    "quantise": lambda answer, given: _tensor(answer, tuple(given[0].shape), given[0]),
    "store": _nothing,
    "kv_view": lambda answer, given: _ids(answer, None),
    "rotate": lambda answer, given: _tensor(answer, tuple(given[1].shape), given[1]),
    "read_keys": lambda answer, given: _tensor(answer, tuple(given[1].shape), given[1]),
    "in_window": lambda answer, given: _truths(
        answer, np.broadcast_shapes(np.shape(given[0]), np.shape(given[1]))
    ),
    "causal_mask": lambda answer, given: _truths(answer, given[2].shape),
    "repeat_kv": _repeated,
    "join": _ledger,
    "evict": _ledger,
    "crop": _ledger,
    "reorder": _nothing,
    "reported_length": _number,
}
"""By the name of a seam: the answer as the engine takes it, from the answer and what was given."""
