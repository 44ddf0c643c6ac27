"""Which positions tokens were given, and which rule gives those numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.contract.model.facts import Attention, Call
from core.contract.model.finding import Basis, Finding, call_words, like, seen

OTHER = "tokens get other positions than their own"
Ids = tuple[int, ...] | None
"""The positions of the tokens of a call; None: not known. Empty: they got none."""


@dataclass(frozen=True, slots=True)
class Told:
    """The positions of one call.

    Attributes:
        ids: of its tokens.
        source: where they were seen.
        basis: whether that was inside the model.
    """

    ids: Ids
    source: str
    basis: Basis = "observed"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a hypothesis may use. `told` has the calls up to this one."""

    calls: Sequence[Call]
    told: Sequence[Told]
    at: int
    key_heads: int | None

    @property
    def call(self) -> Call:
        return self.calls[self.at]


def right_ids(call: Call) -> tuple[int, ...]:
    """What must hold."""
    return tuple(range(call.past, call.end))


def of_queries(calls: Sequence[Call]) -> list[Told]:
    """Of each call: by the table that positions are looked up in, else by layer 0's queries."""
    return [_told(call) for call in calls]


def _told(call: Call) -> Told:
    right = right_ids(call)
    looked_up = [
        Told(tuple(ids), f"looked up in {name}")
        for name, lookups in call.tables.items()
        if lookups and len(lookups[0]) == call.n
        for ids in lookups
        if len(ids) == call.n
    ]
    if looked_up:
        return next((one for one in looked_up if _may_be_used(one, call)), looked_up[0])
    first = next((one for one in call.attentions if one.query_positions), None)
    if first is not None and all(first.query_positions):
        ids = tuple(
            wanted if wanted in found else found[0]
            for wanted, found in zip(right, first.query_positions, strict=True)
        )
        return Told(ids, f"of the queries of layer {first.layer}")
    if call.tables and not any(call.tables.values()):
        return Told((), f"looked up in {next(iter(call.tables))}")
    if call.kept is not None and call.kept.positions is not None:
        return Told(call.kept.positions, "by the rows that it kept of its tokens", "black box")
    return Told(None, "")


def _may_be_used(told: Told, call: Call) -> bool:
    """Whether the queries of layer 0 can be at these positions: what is looked up may go unused."""
    ids = told.ids or ()
    if not call.attentions:
        return True
    first = call.attentions[0]
    if first.query_positions and all(first.query_positions):
        return all(one in found for one, found in zip(ids, first.query_positions, strict=True))
    return not first.queries_off or ids != right_ids(call)


def _from(start: Callable[[_Asked], int | None]) -> Callable[[_Asked], Ids]:
    def answer(asked: _Asked) -> Ids:
        first = start(asked)
        return None if first is None else tuple(range(first, first + asked.call.n))

    return answer


def _skips_single(asked: _Asked) -> Ids:
    return () if asked.call.n == 1 else right_ids(asked.call)


def _remembered(asked: _Asked) -> int | None:
    """The numbers of the first call of equal length."""
    same = [i for i in range(asked.at) if asked.calls[i].n == asked.call.n]
    ids = asked.told[same[0]].ids if same else None
    return ids[0] if ids else asked.call.past


def _stale(asked: _Asked) -> int | None:
    if asked.at < 2:
        return asked.call.past
    ids = asked.told[asked.at - 1].ids
    return ids[0] + asked.calls[asked.at - 2].n if ids else None


def _held(asked: _Asked) -> int | None:
    """The number of rows read that are not of the call itself."""
    first = next(iter(asked.call.attentions), None)
    return None if first is None else min(first.n_columns - asked.call.n, asked.call.past)


RULES: tuple[tuple[str, Callable[[_Asked], Ids]], ...] = (
    ("pos-restart", _from(lambda asked: 0)),
    ("pos-skip-single", _skips_single),
    ("pos-hole", _from(lambda asked: asked.call.past + (asked.at > 0))),
    ("pos-retained-rows", _from(_held)),
    ("pos-memo", _from(_remembered)),
    ("pos-stale-prompt", _from(_stale)),
    ("pos-wrong-axis", _from(lambda asked: asked.key_heads if asked.at else 0)),
    ("pos-captured-alias", _from(lambda asked: asked.call.end)),
)


def position_finding(calls: Sequence[Call], key_heads: int | None) -> Finding | None:
    """The first call whose tokens have wrong positions, and the rule that gives all of them."""
    told = of_queries(calls)
    wrong = [
        i for i, one in enumerate(told) if one.ids is not None and one.ids != right_ids(calls[i])
    ]
    if not wrong:
        return _key_finding(calls, told)
    at = wrong[0]
    evidence = _words(calls[at], told[at])
    evidence += "".join(f"; then {_ids(told[i].ids)}" for i in wrong[1:3])
    name = _rule(calls, told, key_heads)
    if name is None:
        return seen(OTHER, at, None, evidence, basis=told[at].basis)
    return like(name, at, None, evidence, basis=told[at].basis)


def _rule(calls: Sequence[Call], told: Sequence[Told], key_heads: int | None) -> str | None:
    for name, rule in RULES:
        answers = [rule(_Asked(calls, told, i, key_heads)) for i in range(len(calls))]
        if all(
            answer == one.ids
            for answer, one in zip(answers, told, strict=True)
            if one.ids is not None
        ):
            return name
    return None


def _words(call: Call, told: Told) -> str:
    got = _ids(told.ids)
    return (
        f"call with {call_words(call)}: position ids {told.source} are {got}, must be "
        f"{_ids(right_ids(call))}"
    )


def _ids(ids: Ids) -> str:
    return "none" if not ids else f"[{', '.join(map(str, ids))}]"


def _key_finding(calls: Sequence[Call], told: Sequence[Told]) -> Finding | None:
    """Where queries are right: keys of layer 0 at other positions, or later layers turned."""
    for at, call in enumerate(calls):
        first = next((one for one in call.attentions if one.key_places), None)
        if first is not None and told[at].ids is not None:
            found = _keys_of(at, call, first)
            if found is not None:
                return found
    return _later_layers(calls)


def _keys_of(at: int, call: Call, first: Attention) -> Finding | None:
    off = _off_keys(call, first, told_right=_queries_right(call, first))
    if off is None:
        return None
    past_off, own_off, words = off
    evidence = f"call with {call_words(call)}: {words}"
    if past_off and not own_off and all(m == 2 * t for t, m in past_off):
        return like("rope-on-read", at, first.layer, evidence)
    if own_off and not past_off and all(m == 0 for _, m in own_off):
        return like("rope-writeback-lost", at, first.layer, evidence)
    return seen("keys are turned to other positions than their own", at, first.layer, evidence)


def _queries_right(call: Call, first: Attention) -> bool:
    right = right_ids(call)
    return all(w in found for w, found in zip(right, first.query_positions, strict=False))


def _off_keys(
    call: Call, first: Attention, *, told_right: bool
) -> tuple[list[tuple[int, int]], list[tuple[int, int]], str] | None:
    """(token, position) of keys at positions not their own: of earlier calls, of this one."""
    if not told_right:
        return None
    past_off: list[tuple[int, int]] = []
    own_off: list[tuple[int, int]] = []
    words = ""
    for column, places in enumerate(first.key_places):
        if places == "zero" or not places or any(t == m for t, m in places):
            continue
        token, position = next((p for p in places if p[0] == column), places[0])
        words = words or (
            f"the key of token {token} in layer {first.layer} is turned to position {position}"
        )
        (own_off if token >= call.past else past_off).append((token, position))
    return (past_off, own_off, words) if words else None


def _later_lookups(calls: Sequence[Call]) -> Finding | None:
    """The first look-up of a call is right, and a later one, for a later layer, is not."""
    for at, call in enumerate(calls):
        if call.attentions and call.attentions[0].queries_off:
            continue
        for name, lookups in call.tables.items():
            n_first = max(1, len(lookups) // max(1, len(call.attentions)))
            if any(list(ids) != list(lookups[0]) for ids in lookups[:n_first]):
                continue  # queries and keys of one layer differ
            for which, ids in enumerate(lookups):
                if len(ids) == call.n and tuple(ids) != tuple(lookups[0]):
                    words = (
                        f"call with {call_words(call)}: look-up {which} in {name} has position ids "
                        f"{_ids(tuple(ids))}, look-up 0 had {_ids(tuple(lookups[0]))}"
                    )
                    layer = which // n_first if call.attentions else None
                    if layer is not None and not _is_turned(call, layer):
                        continue  # it went unused
                    return like("pos-layer-counter", at, layer, words)
    return None


def _is_turned(call: Call, layer: int) -> bool:
    """Whether queries of a layer may be turned wrongly."""
    return layer >= len(call.attentions) or call.attentions[layer].queries_off is not False


def _later_layers(calls: Sequence[Call]) -> Finding | None:
    """Layer 0 is right, and later layers turn queries, or queries and keys, otherwise."""
    found = _later_lookups(calls)
    if found is not None:
        return found
    for at, call in enumerate(calls):
        for before, one in zip(call.attentions, call.attentions[1:], strict=False):
            if before.output_off is not False or before.queries_off or not one.queries_turned:
                continue
            words = (
                f"call with {call_words(call)}: attention of layer {before.layer} is right; the "
                f"queries of layer {one.layer} have the right length and another direction"
            )
            if one.new_keys_off:
                words += ", and so have its new keys"
                return like("pos-layer-counter", at, one.layer, words)
            return seen("later layers turn queries to other positions", at, one.layer, words)
    return None


def query_shift_finding(calls: Sequence[Call]) -> Finding | None:
    """Positions looked up are right, and the queries of layer 0 still stand elsewhere."""
    for at, call in enumerate(calls):
        first = next((one for one in call.attentions if one.query_positions), None)
        if first is None or _queries_right(call, first) or not all(first.query_positions):
            continue
        ids = tuple(found[0] for found in first.query_positions)
        words = _words(call, Told(ids, f"of the queries of layer {first.layer}"))
        if ids == tuple(range(call.end, call.end + call.n)):
            return like("pos-captured-alias", at, first.layer, words)
        return seen("queries are turned to other positions than their own", at, first.layer, words)
    return None
