"""Findings as a pytest file that needs nothing of kvscope.

Each test repeats the shortest sequence of a finding and asks, call by call, for what a right cache
answers: it fails as long as the class is as it was found, and passes once it is repaired.
"""

import json
import re
from collections.abc import Iterator, Sequence

from core.contract.calls import Append, Ask, Rows, Sizes
from core.contract.check import Verdict
from core.contract.ideal import Expected, Ideal
from core.contract.plan import Plan
from core.contract.report import mechanism
from core.contract.rule import Case
from core.contract.subject import NotDrivableError, Source
from core.contract.written_head import HEAD

_ARRAY = "np.array(array.transpose([axes.index(axis) for axis in LAYOUT]), dtype={dtype!r})"


def test_file(source: Source, plan: Plan, verdicts: Sequence[Verdict]) -> str:
    """The text of the file: a test for each rule that failed.

    Raises:
        NotDrivableError: the class is driven by an adapter, which a test without kvscope lacks.
    """
    if not plan.surface.spelling:
        raise NotDrivableError(
            "--write-tests writes tests that need nothing of kvscope, and an adapter does; "
            "leave one of the two out"
        )
    sizes = plan.sizes(1)
    is_torch = plan.surface.library == "torch"
    array = _ARRAY.format(dtype=sizes.dtype)
    head = HEAD.format(
        name=source.name,
        library="torch" if is_torch else "numpy",
        imports="import torch\n" if is_torch else "",
        file=json.dumps(str(source.path)),
        layout=plan.surface.layout,
        n_heads=sizes.n_heads,
        d_k=sizes.d_k,
        d_v=sizes.d_v,
        batch=sizes.batch,
        convert=f"torch.from_numpy({array})" if is_torch else array,
    )
    failed = [verdict for verdict in verdicts if verdict.state == "fail"]
    return head + "".join(_test(source, plan, verdict) for verdict in failed)


def _test(source: Source, plan: Plan, verdict: Verdict) -> str:
    assert verdict.case is not None  # noqa: S101  (a failure has a case)
    name = re.sub(r"\W+", "_", verdict.title.lower()).strip("_")
    writer = _Writer(source, plan, verdict.case)
    body = "\n".join(f"    {line}" for line in writer.lines())
    return (
        f"\n\ndef test_rule_{verdict.rule}_{name}():\n    # found: {mechanism(verdict)}\n{body}\n"
    )


class _Writer:
    """One sequence as the body of a test."""

    def __init__(self, source: Source, plan: Plan, case: Case) -> None:
        self._plan, self._case = plan, case
        self._spelling = plan.surface.spelling
        self._ideal = Ideal(plan.policy, case.sizes, counts_seen=plan.counts_seen)
        self._given = source.arguments
        self._n_appended: dict[int, int] = {}
        self._shown: list[Expected] = []

    def lines(self) -> Iterator[str]:
        """The making of the cache, and each call with what it must give."""
        sizes = self._case.sizes
        making = f"cache = load()({self._arguments(sizes)})"
        if sizes.capacity < 1:
            yield from ("with pytest.raises(Exception):", f"    {making}")
            return
        yield making
        for at, call in enumerate(self._case.calls):
            expected = self._ideal.expected(call)
            if isinstance(call, Append):
                yield from self._append(at, call, expected)
            else:
                yield from self._ask(call, expected)

    def _arguments(self, sizes: Sizes) -> str:
        given = {name: repr(value) for name, value in self._given.items()}
        is_torch = self._plan.surface.library == "torch"
        for name, roles in self._plan.surface.arguments.items():
            for role in roles:
                value = getattr(sizes, role)
                if value is not None:
                    dtype = f"torch.{value}" if is_torch else repr(value)
                    given[name] = dtype if role == "dtype" else repr(value)
                    break
        return ", ".join(f"{name}={value}" for name, value in given.items())

    def _append(self, at: int, call: Append, expected: Expected) -> Iterator[str]:
        start = self._n_appended.get(call.layer, 0)
        n = len(call.k.tokens)
        yield f"k{at} = {_rows('keys', call.k, call.layer, self._case.sizes.d_k)}"
        yield f"v{at} = {_rows('values', call.v, call.layer, self._case.sizes.d_v)}"
        if call.scratch is not None:
            first = [i for i, c in enumerate(self._case.calls) if isinstance(c, Append)]
            of = first[call.scratch]
            yield f"k{of}[...], v{of}[...] = k{at}, v{at}  # the same arrays once more"
            yield f"k{at}, v{at} = k{of}, v{of}"
        spelled = self._spelling["append"].format(
            k=f"k{at}", v=f"v{at}", layer=call.layer, position=f"torch.arange({start}, {start + n})"
        )
        if expected.refused:
            yield from ("with pytest.raises(Exception):", f"    {spelled}")
        elif expected.refused is None:
            yield from ("with contextlib.suppress(Exception):", f"    {spelled}")
        else:
            self._n_appended[call.layer] = start + n
            yield f"back{call.layer} = {spelled}"
            if not self._spelling["read"] and not self._plan.is_whole:
                yield self._check(f"back{call.layer}", call.layer, expected)
        self._shown.append(Expected())

    def _ask(self, call: Ask, expected: Expected) -> Iterator[str]:
        if call.call in ("length", "seen"):
            spelled = self._spelling[call.call].format(layer=call.layer)
            yield f"assert {spelled} == {expected.number}"
        elif call.call == "read":
            read = self._spelling["read"].format(layer=call.layer) or f"back{call.layer}"
            yield f"read{len(self._shown)} = {read}"
            yield self._check(f"read{len(self._shown)}", call.layer, expected)
            self._shown.append(expected)
        elif call.call == "look":
            yield self._check(f"read{call.of}", call.layer, self._shown[call.of])
        elif call.call == "overwrite_got":
            yield from (
                "with contextlib.suppress(Exception):",
                f"    for array in read{call.of}:",
                "        array[...] = 9",
            )
        elif call.call == "overwrite_given":
            appends = [i for i, c in enumerate(self._case.calls) if isinstance(c, Append)]
            yield f"k{appends[call.of]}[...] = v{appends[call.of]}[...] = 7"
        else:
            index = list(call.index)
            if self._plan.surface.library == "torch":
                index = f"torch.tensor({index})"
            spelled = self._spelling[call.call].format(n=call.n, index=index)
            if expected.refused:
                yield from ("with pytest.raises(Exception):", f"    {spelled}")
            else:
                yield spelled

    def _check(self, what: str, layer: int, expected: Expected) -> str:
        tokens = list(expected.tokens or ())
        choices = [list(expected.shown_with(n + 1)) for n in range(len(expected.older))]
        others = f", or_else={choices}" if choices else ""
        at = f", layer={layer}" if layer or others else ""
        return f"check_rows({what}, {tokens}{at}{others})"


def _rows(name: str, rows: Rows, layer: int, d: int) -> str:
    """The call that makes them, in the test."""
    special = rows.special or {}
    tokens: list[int | str] = [special.get(place, token) for place, token in enumerate(rows.tokens)]
    if rows.fill is not None:
        tokens = ["zeros"] * len(tokens)
    odd = f", layer={layer}" if layer else ""
    odd += f", d={rows.d}" if rows.d != d else ""
    odd += f", heads={rows.n_heads}" if rows.n_heads > 2 else ""
    return f"{name}({tokens}{odd})"
