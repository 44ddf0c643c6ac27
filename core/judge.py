"""Judges a run: the specification, a reference without a cache, and the engine's own account.

One forward of the reference over a text judges every step that read it. Verdicts come in step
order; each call of `update` runs the forwards anew, so ask in batches while a run is playing. More
than 300 lines, because a step's way is read as one: what is right of it, the forwards, the verdict.

- policy: the policy oracle's answer against outcome, length, seen, position ids, readable sets,
  and against the tokens that the ledger keeps at the end of the step.
- logits: the reference fed with what the policy oracle demands, against the engine's logits.
- mechanism: the reference fed with what the engine planned, against its logits and rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]  # it ships none

from core.arrays import FloatArray
from core.compare import (
    Detail,
    Step,
    agrees_with_policy,
    first_difference,
    has_right_contents,
    record_before,
)
from core.forwards import Forwards
from core.mechanism import (
    OwnPassage,
    OwnPlace,
    OwnText,
    reads_what_it_names,
    sees_what_it_may,
)
from core.model.loading import LoadedModel
from core.noise import Forward
from core.outcome import Ok
from core.policy_oracle import Expected, PolicyOracle, PolicyRules
from core.probe import probe_rows
from core.record import StepRecord
from core.reference import LooseRows, Passage, Reference
from core.rounding import N_SHAKEN, Rounding, Stand
from core.spec import Probe
from core.stages import LayerErrors, PlacedStep, errors_by_step, first_rows, stages_of
from core.stored_rows import StoredRows
from core.tolerance import (
    beyond,
    gap,
    kl_divergence,
    largest_gap,
    logits_band,
    row_bands,
)
from core.trace import Trace
from core.verdict import LogitsVerdict, OffRows, Standing, StepVerdict

_WIDE = 512
"""From this model width on, a forward gets all threads. On two idle cores the second saves a tenth
of the time at width 128 and two fifths at 512; on busy ones small matrices make the threads wait
for each other (a run of 250 tokens at width 128: 220 ms in place of 19)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A step with all that is known of it before the forwards are run."""

    record: StepRecord
    expected: Expected
    place: OwnPlace | None

    @property
    def right_place(self) -> tuple[int, int] | None:
        """Passage and row of the right logits; None: nothing was computed, or there are none."""
        if self.expected.row is None or self.record.logits is None:
            return None
        return self.expected.passage_id, self.expected.row

    @property
    def own_place(self) -> tuple[int, int] | None:
        """Passage and row of the logits that the engine's own plan demands."""
        if self.place is None:
            return None
        last = self.place.first_row + self.place.n_rows - 1
        return self.place.passage_id, last - self.record.n_rejected


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """The forwards of one call of `update`."""

    right: Forwards
    own: Forwards
    layer_errors: dict[int, LayerErrors]
    off_rows: dict[int, OffRows]


class Judge:
    """Gives the verdicts of a trace; call `update` after new steps.

    Attributes:
        verdicts: of all steps judged so far, by step number.
    """

    def __init__(self, trace: Trace, loaded: LoadedModel) -> None:
        """Judge `trace`, which was made with the model `loaded`."""
        self.verdicts: list[StepVerdict] = []
        self._trace = trace
        spec, config = trace.spec, loaded.config
        rules = PolicyRules(
            spec.policy,
            spec.capacity,
            spec.sinks,
            spec.reassign_positions,
            config.position_limit,
        )
        self._oracles = [PolicyOracle(rules) for _ in range(spec.n_sequences)]
        self._owns = [OwnText() for _ in range(spec.n_sequences)]
        self._weights = loaded.weights.to(getattr(torch, spec.dtype), "cpu")
        self._reference = Reference(
            config, self._weights.arrays(), is_narrowed=spec.kv_dtype is not None
        )
        self._stored = StoredRows(spec.number_kind)
        self._forward = Forward(self._weights, self._reference.is_narrowed)
        self._rounding = Rounding(config.n_layers)
        self._n_threads = None if config.d_model >= _WIDE else 1
        self._threads = ThreadpoolController()

    def update(self, most: int | None = None) -> list[StepVerdict]:
        """Verdicts of the steps not judged yet, in order; `most` of them, None: all."""
        n_torch = torch.get_num_threads()
        torch.set_num_threads(self._n_threads or n_torch)
        try:
            with self._threads.limit(limits=self._n_threads):  # pyright: ignore[reportUnknownMemberType]
                new = self._judged(most)
        finally:
            torch.set_num_threads(n_torch)
        self.verdicts.extend(new)
        return new

    def _judged(self, most: int | None) -> list[StepVerdict]:
        n_judged = len(self.verdicts)
        records = self._trace.records[n_judged : None if most is None else n_judged + most]
        cases = [self._case(record) for record in records]
        placed = [
            PlacedStep(case.record, place[0], place[1] + case.record.n_rejected)
            for case in cases
            if (place := case.right_place) is not None
        ]
        right = Forwards(
            self._reference,
            self._right_passage,
            [case.right_place for case in cases if case.right_place is not None],
            residuals_from=first_rows(placed),
        )
        own = Forwards(
            self._reference,
            lambda number: self._own_passage(number).passage(),
            [case.own_place for case in cases if case.own_place is not None],
            known=right,
        )
        for case in cases:
            self._rounding.follow(_stands(case, right, own, self._forward))
        shaken = replace(self._forward, n_shaken=N_SHAKEN)
        self._rounding.look_closer = lambda step: _stands(
            cases[step - n_judged], right, own, shaken
        )
        self._find_spoiled(cases, own)
        kind = self._trace.spec.number_kind
        runs = _Round(
            right,
            own,
            errors_by_step(placed, right.run, kind, self._rounding),
            self._stored.follow(records, placed, right.run, self._rounding),
        )
        verdicts = [self._verdict(case, runs) for case in cases]
        self._rounding.look_closer = None
        return verdicts

    def detail(self, step: int) -> Detail | None:
        """The reference's own values for the new tokens of a step that was judged.

        A forward by itself, so ask where it is looked at. None: there is nothing to compare with.
        """
        record, expected = self._trace.records[step], self.verdicts[step].expected
        case = _Case(record, expected, None)
        place = case.right_place
        if place is None:
            return None
        right = Forwards(self._reference, self._right_passage, [place])
        records = self._trace.records[: step + 1]
        return self._detail(case, Step(records, expected, self._trace.spec.number_kind), right)

    # Before the forwards

    def _right_passage(self, number: int) -> Passage:
        """Passages of all sequences, numbered in turn."""
        n = len(self._oracles)
        return self._oracles[number % n].passage(number // n)

    def _own_passage(self, number: int) -> OwnPassage:
        n = len(self._owns)
        return self._owns[number % n].passages[number // n]

    def _case(self, record: StepRecord) -> _Case:
        accepted, which, n = isinstance(record.outcome, Ok), record.request, len(self._owns)
        oracle, own = self._oracles[which], self._owns[which]
        place, loose = None, None
        if record.phase == "reorder":
            expected = self._reordered(record.parents)
        else:
            expected, loose = self._expected(record, oracle, accepted=accepted)
            place = own.follow(record, loose)
        if place is not None:
            place = replace(place, passage_id=place.passage_id * n + which)
        expected = replace(expected, passage_id=expected.passage_id * n + which)
        return _Case(record, expected, place)

    def _expected(
        self, record: StepRecord, oracle: PolicyOracle, *, accepted: bool
    ) -> tuple[Expected, LooseRows | None]:
        """What was right, and the rows that a probe left."""
        if record.phase == "rollback":
            return oracle.rollback(record.n_rolled_back, engine_accepted=accepted), None
        if record.phase == "probe":
            return self._probe(record, oracle, accepted=accepted)
        if record.phase == "verify":
            token_ids, n_rejected = record.token_ids, record.n_rejected
            return oracle.verify(token_ids, n_rejected, engine_accepted=accepted), None
        token_ids = _to_read(record, oracle)
        n_pads = record.n_padding
        return oracle.append(token_ids, engine_accepted=accepted, n_pads=n_pads), None

    def _reordered(self, parents: Sequence[int]) -> Expected:
        """What is right of sequence 0 once all go on from their parents."""
        texts = [self._oracles[parent].forked() for parent in parents]
        passages = [self._owns[parent].passages[-1] for parent in parents]
        for own, passage in zip(self._owns, passages, strict=True):
            own.fork(passage)
        found = [oracle.fork(text) for oracle, text in zip(self._oracles, texts, strict=True)]
        return found[0]

    def _probe(
        self, record: StepRecord, oracle: PolicyOracle, *, accepted: bool
    ) -> tuple[Expected, LooseRows | None]:
        n_keys, n_values = record.n_probed
        config, seed = self._trace.model.config, self._trace.spec.seed
        keys, values = probe_rows(config, Probe(n_keys, n_values), seed, record.step)
        keys, values = self._rounded(keys), self._rounded(values)
        expected = oracle.probe(
            n_keys, n_values, engine_accepted=accepted, keys=keys, values=values
        )
        is_kept = accepted and n_keys == n_values
        return expected, LooseRows(keys, values, record.ledger.seen) if is_kept else None

    def _rounded(self, rows: FloatArray) -> FloatArray:
        """The rows as the engine's number type has them, in float64."""
        return torch.tensor(rows).to(self._weights.dtype).to(torch.float64).numpy()

    # After the forwards

    def _find_spoiled(self, cases: Sequence[_Case], own: Forwards) -> None:
        """Mark the tokens whose new rows are not what the reference computes for them."""
        by_passage: dict[int, list[tuple[StepRecord, OwnPlace]]] = {}
        for case in cases:
            if case.place is not None:
                steps = by_passage.setdefault(case.place.passage_id, [])
                steps.append((case.record, case.place))
        for number, steps in by_passage.items():
            run = own.run(number)
            rows = np.concatenate(
                [np.arange(p.first_row, p.first_row + p.n_rows) for _, p in steps]
            )
            is_off = np.zeros(len(rows), dtype=bool)
            for layer in range(len(run.values)):
                given = [record.layers[layer] for record, _ in steps]
                keys, values = ([g.new_keys for g in given], [g.new_values for g in given])
                counts = [place.n_rows for _, place in steps]
                for name, reference, mine in (
                    ("keys", run.stored_keys[layer], keys),
                    ("values", run.values[layer], values),
                ):
                    off_by = gap(np.concatenate(_last(mine, counts), axis=1), reference[:, rows])
                    bands = row_bands(self._trace.spec.number_kind, reference)[rows]
                    rows_of = [(r.step, n) for (r, _), n in zip(steps, counts, strict=True)]
                    is_off |= self._rounding.exceeded(
                        rows_of, name, layer, bands, off_by.max(axis=(0, 2))
                    )
            self._own_passage(number).spoiled.update(rows[is_off].tolist())

    def _verdict(self, case: _Case, runs: _Round) -> StepVerdict:
        logits = self._logits_verdict(case, runs.right)
        agrees = agrees_with_policy(case.record, case.expected)
        policy = "right" if agrees else "wrong"
        mechanism = "right" if self._kept_its_plan(case, runs.own) else "wrong"
        is_off = logits is not None and logits.standing == "wrong"
        difference = None
        if is_off or "wrong" in (policy, mechanism):
            records = self._trace.records[: case.record.step + 1]
            step = Step(records, case.expected, self._trace.spec.number_kind)
            difference = first_difference(
                step, lambda: self._detail(case, step, runs.right), logits_differ=is_off
            )
        number = case.record.step
        before = record_before(self._trace.records, number)
        contents = agrees or has_right_contents(case.record, case.expected)
        errors = runs.layer_errors.get(number)
        stages = stages_of(case.record, before, case.expected, errors, contents=contents)
        off_rows = runs.off_rows[number]
        return StepVerdict(
            number, case.expected, policy, mechanism, logits, difference, stages, off_rows
        )

    def _logits_verdict(self, case: _Case, right: Forwards) -> LogitsVerdict | None:
        place, logits = case.right_place, case.record.logits
        if place is None or logits is None:
            return None
        reference = right.logits(*place)
        band = self._band(reference)
        error = largest_gap(logits, reference)
        wrong_above = self._wrong_above(case.record.step, band, error)
        standing: Standing = "right"
        if not error <= band:
            standing = "wrong" if _is_beyond(error, wrong_above) else "rounding"
        return LogitsVerdict(
            standing=standing,
            max_abs_error=error,
            kl=kl_divergence(reference, logits),
            band=band,
            wrong_above=wrong_above,
            reference=reference,
            reference_token=int(reference.argmax()),
        )

    def _band(self, reference: FloatArray) -> float:
        """Error of a logit up to which it is right."""
        return logits_band(self._trace.spec.number_kind, reference)

    def _wrong_above(self, step: int, band: float, error: float) -> float:
        """Error above which logits are wrong."""
        bands = np.array([band])
        return float(self._rounding.limits(step, "logits", 0, bands, np.array([error]))[0])

    def _kept_its_plan(self, case: _Case, own: Forwards) -> bool:
        place, logits = case.own_place, case.record.logits
        if case.place is None or place is None or logits is None:
            return True
        reference = own.logits(*place)
        error = largest_gap(logits, reference)
        if _is_beyond(error, self._wrong_above(case.record.step, self._band(reference), error)):
            return False
        passage = self._own_passage(case.place.passage_id)
        n_loose = _n_loose(passage.loose, case.place.first_row)
        if not reads_what_it_names(case.record, passage, n_loose):
            return False
        return sees_what_it_may(case.record, n_loose)

    def _detail(self, case: _Case, step: Step, right: Forwards) -> Detail | None:
        place = case.right_place
        if place is None:
            return None
        number, row = place
        last = row + case.record.n_rejected
        first = last - step.n_compared + 1
        run = right.detail(number, first, last)
        step_number = case.record.step
        rows = self._rounding.at(step_number)
        noise = {**rows, "rotated_keys": rows["keys"]}
        n_shaken = N_SHAKEN if self._rounding.was_close(step_number) else 0
        forward = replace(self._forward, n_shaken=n_shaken)
        for name, errors in right.noise_of_detail(number, first, last, forward).items():
            noise[name] = np.maximum(errors, noise[name]) if name in noise else errors
        n_loose = _n_loose(right.passage(number).loose, row)
        return Detail(run, case.record.token_index[-1] - last, n_loose, noise)


def _stands(case: _Case, right: Forwards, own: Forwards, forward: Forward) -> list[Stand]:
    """Where a step stands, in the right passage and in that of its own plan if that is another."""
    n_computed = len(case.record.readable) - case.record.n_padding
    found: list[Stand] = []
    if case.right_place is not None:
        number, row = case.right_place
        last = row + case.record.n_rejected
        first = max(0, last - n_computed + 1)
        found.append(Stand(right.noise(number, forward), first, last, row))
    if case.place is not None and case.own_place is not None:
        number, row = case.own_place
        first, noise = case.place.first_row, own.noise(number, forward)
        if not any(stand.noise is noise for stand in found):
            found.append(Stand(noise, first, first + case.place.n_rows - 1, row))
    return found


def _is_beyond(error: float, limit: float) -> bool:
    return bool(beyond(np.array(error), np.array(limit)))


def _to_read(record: StepRecord, oracle: PolicyOracle) -> tuple[int, ...]:
    """The tokens that were to be read: of a new prompt, those whose rows are not there."""
    if record.prompt_ids:
        return oracle.reuse(record.prompt_ids)
    if record.phase == "new_prompt":
        oracle.new_prompt()
    return record.token_ids


def _last(arrays: Sequence[FloatArray], counts: Sequence[int]) -> list[FloatArray]:
    """The last rows of arrays [Hkv, T, D]: those before them are padding."""
    return [array[:, -n:] for array, n in zip(arrays, counts, strict=True)]


def _n_loose(loose: Sequence[LooseRows], row: int) -> int:
    """Rows without a token that the query at `row` of a passage rightly reads."""
    return sum(rows.keys.shape[2] for rows in loose if rows.first_reader <= row)
