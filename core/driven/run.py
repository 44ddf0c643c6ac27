"""The loop: a small model decodes with the rows that a class gives back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import FloatArray, IntArray, as_ids, frozen
from core.contract.calls import Sizes
from core.contract.decode_model import LayerNumbers, SmallModel
from core.contract.numbers import rounded
from core.contract.plan import Plan
from core.contract.run_plan import Act, RunPlan
from core.contract.subject import Subject
from core.driven.caches import Back, DrivenCaches, NothingToReadError, RefusedError
from core.driven.holdings import Holdings
from core.driven.records import Books, LayerStep, TextSight, layer_records
from core.driven.rows import LayerWatch
from core.driven.text import policy_of, text_of
from core.outcome import OK, Outcome, Refused
from core.probe import probe_rows
from core.record import LayerRecord, Phase, StepRecord
from core.spec import Probe

SEED = 0


@dataclass(frozen=True, slots=True)
class Driven:
    """A run.

    Attributes:
        records: its steps.
        said: what the class raised, by step.
        ended: why the run ends before its time; empty: it does not.
    """

    records: tuple[StepRecord, ...]
    said: dict[int, str]
    ended: str


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """What came of tokens that were read."""

    layers: tuple[LayerRecord, ...]
    readable: tuple[IntArray, ...]
    logits: FloatArray
    backs: tuple[Back, ...]


class Driver:
    """Goes through a run, act by act."""

    def __init__(
        self, subject: Subject, plan: Plan, run: RunPlan, model: SmallModel, sizes: Sizes
    ) -> None:
        """Begin with new caches of these sizes, which the model's rows have."""
        config, self._plan, self._run = model.config, plan, run
        sizes = replace(sizes, capacity=run.capacity, sinks=run.sinks)
        self._model, self._config = model, config
        self._caches = DrivenCaches(subject, plan, sizes, config.n_kv_heads)
        watches = tuple(LayerWatch() for _ in range(config.n_layers))
        _, self._capacity = policy_of(plan, run)
        self._books = Books(self._capacity, watches)
        shape = (config.n_layers, config.n_kv_heads, config.d_head)
        self._holdings = Holdings(plan, self._books, self._caches, sizes.sinks or 0, shape)
        self._text = list(text_of(run, config.vocab_size))
        self._is_new_text = False
        self._n_loose = 0
        self._records: list[StepRecord] = []
        self._said: dict[int, str] = {}

    def driven(self) -> Driven:
        """The whole run, as far as the class can be read."""
        for act in self._run.acts:
            try:
                self._carry_out(act)
            except NothingToReadError as error:
                ended = f"the run ends before step {len(self._records)}: {error}"
                return Driven(tuple(self._records), self._said, ended)
        return Driven(tuple(self._records), self._said, "")

    @property
    def _step(self) -> int:
        return len(self._records)

    def _carry_out(self, act: Act) -> None:
        match act.name:
            case "read":
                self._records.append(self._read(act.n))
            case "probe":
                self._records.append(self._probe(act))
            case "truncate" if act.n < self._books.seen:
                self._records.append(self._roll_back(act.n))
            case "reset":
                self._reset()
            case _:
                pass  # keeping all tokens changes nothing

    # Tokens

    def _short(self, n: int) -> int:
        """Rows by which so many new ones pass the capacity: no class tells it, so as it is."""
        return max(0, len(self._books.slot_of) + n - self._capacity)

    def _read(self, n: int) -> StepRecord:
        ids, self._text = self._text[:n], self._text[n:]
        phase = self._phase(n)
        if self._is_new_text:
            self._books.forget_from(0)
            self._is_new_text = False
        books, n_short = self._books, self._short(n)
        tokens = as_ids(range(books.seen, books.seen + n))
        try:
            read = self._computed(as_ids(ids), tokens)
        except RefusedError as error:
            _check_is_meant(error)
            record = self._bare(phase, self._refused(error, n))
            return replace(
                record,
                token_ids=tuple(ids),
                token_index=tuple(tokens.tolist()),
                n_short=n_short,
            )
        self._holdings.settle(read.backs)
        record = self._bare(phase, OK, read.backs)
        return replace(
            record,
            token_ids=tuple(ids),
            token_index=tuple(tokens.tolist()),
            n_short=n_short,
            past_len=int(tokens[0]),
            slots=read.layers[0].plan.write_rows,
            readable=read.readable,
            layers=read.layers,
            logits=frozen(read.logits),
            predicted=int(read.logits.argmax()),
            next_token=self._text[0] if self._text else None,
            is_forced=bool(self._text),
        )

    def _phase(self, n: int) -> Phase:
        if self._is_new_text:
            return "new_prompt"
        return "prefill" if n > 1 or not self._books.seen else "decode"

    def _computed(self, ids: IntArray, tokens: IntArray) -> _Read:
        """Let the model read tokens, layer after layer."""
        books, plan = self._books, self._plan
        slots = books.slots_for(len(tokens))
        order = (*books.order, *tokens.tolist())
        window = self._capacity if plan.policy == "window" else None
        sight = TextSight(window, self._run.sinks or 0, order)
        numbers: list[LayerNumbers] = []
        steps: list[tuple[FloatArray, FloatArray, Back]] = []
        one = self._model.step(ids, tokens, 0, sight, numbers.append)
        rows, logits = next(one), None
        for layer, watch in enumerate(books.watches):
            given = np.stack([rounded(array, "float32") for array in rows])
            watch.give(tokens, given)
            back = self._caches.append(layer, given[0], given[1])
            read = self._readable_rows(back.attended, len(order))
            steps.append((given, read, back))
            try:
                with np.errstate(all="ignore"):  # what comes back may be anything
                    rows = one.send((read[0], read[1]))
            except StopIteration as end:
                logits = end.value[-1]
        assert logits is not None  # noqa: S101  (the model is over with its last layer)
        books.token_ids += ids.tolist()
        books.add(tokens, slots)
        layers = [LayerStep(g, r, n) for (g, r, _), n in zip(steps, numbers, strict=True)]
        places = np.arange(books.seen)
        readable = tuple(frozen(places[row]) for row in sight.readable(tokens, places))
        records = layer_records(books, self._step, tokens, slots, layers)
        return _Read(records, readable, logits, tuple(back for _, _, back in steps))

    def _readable_rows(self, pair: tuple[FloatArray, FloatArray] | None, n: int) -> FloatArray:
        """[2, Hkv, m, D] rows that attention can read; of whole buffers the first `n`."""
        if pair is None:
            raise NothingToReadError("nothing came back")
        rows = np.stack(pair)
        if self._plan.is_whole:
            rows = rows[:, :, :n]
        _, n_heads, m, size = rows.shape
        config = self._config
        if not m or (n_heads, size) != (config.n_kv_heads, config.d_head):
            shape = list(pair[0].shape)
            raise NothingToReadError(f"keys and values of the shape {shape} came back")
        return rows

    # Other calls

    def _probe(self, act: Act) -> StepRecord:
        probe = Probe(act.n, act.n_values)
        keys, values = probe_rows(self._config, probe, SEED, self._step)
        n, backs = max(act.n, act.n_values), list[Back]()
        n_short = self._short(n)
        outcome: Outcome = OK
        try:
            for layer in range(self._config.n_layers):
                backs.append(self._caches.append(layer, keys[layer], values[layer]))
        except RefusedError as error:
            outcome = self._refused(error, n)
        if outcome is OK:
            loose = as_ids([-2 - self._n_loose - place for place in range(act.n)])
            self._n_loose += act.n
            self._books.add(loose, self._books.slots_for(act.n))
            self._holdings.settle(backs)
        record = self._bare("probe", outcome, backs if outcome is OK else ())
        return replace(record, n_short=n_short, n_probed=(act.n, act.n_values))

    def _roll_back(self, n_kept: int) -> StepRecord:
        books, n = self._books, self._books.seen - n_kept
        outcome: Outcome = OK
        try:
            for layer in range(self._config.n_layers):
                self._caches.ask(layer, "truncate", n_kept)
        except RefusedError as error:
            _check_is_meant(error)
            places = np.arange(n_kept)
            sight = TextSight(self._capacity if self._plan.policy == "window" else None,
                              self._run.sinks or 0)  # fmt: skip
            needed = places[sight.readable(as_ids([n_kept]), places)[0]].tolist()
            held = sum(token in books.slot_of for token in needed)
            outcome = self._refused(error, len(needed), held)
        if outcome is OK:
            books.forget_from(n_kept)
        record = self._bare("rollback", outcome)
        next_token = self._text[0] if self._text else None
        return replace(record, next_token=next_token, n_rolled_back=n)

    def _reset(self) -> None:
        try:
            for layer in range(self._config.n_layers):
                self._caches.ask(layer, "reset")
        except RefusedError as error:
            raise NothingToReadError(f"reset: {error}") from error
        self._is_new_text = True

    def _refused(self, error: RefusedError, needed: int, free: int | None = None) -> Refused:
        """The class raised; how much room there was, by what it was seen to take."""
        self._said[self._step] = str(error)
        n_held = len(self._books.slot_of)
        return Refused(needed, max(0, self._capacity - n_held) if free is None else free)

    def _bare(self, phase: Phase, outcome: Outcome, backs: Sequence[Back] = ()) -> StepRecord:
        """A record without what is computed; without `backs` the caches are looked at."""
        ledger, live = self._holdings.taken(backs)
        return StepRecord(
            step=self._step,
            request=0,
            phase=phase,
            token_ids=(),
            token_index=(),
            outcome=outcome,
            ledger=ledger,
            reported_length=ledger.length,
            n_short=0,
            past_len=None,
            n_skipped=0,
            n_recomputed=0,
            slots=as_ids([]),
            readable=(),
            layers=(),
            live=live,
            logits=None,
            predicted=None,
            next_token=None,
            is_forced=False,
        )


def _check_is_meant(error: RefusedError) -> None:
    """Whether somebody wrote that this is refused.

    Raises:
        NothingToReadError: Python raised over the class's own code, which is no refusal.
    """
    if error.is_mistake:
        raise NothingToReadError(f"its code fails: {error}")
