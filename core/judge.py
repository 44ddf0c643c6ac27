"""Judges a run: the specification, a reference without a cache, and the engine's own account.

One forward of the reference over a text judges every step that read it. Verdicts come in step
order; each call of `update` runs the forwards anew, so ask in batches while a run is playing.

- policy: the policy oracle's answer against outcome, length, seen, position ids, readable sets.
- logits: the reference fed with what the policy oracle demands, against the engine's logits.
- mechanism: the reference fed with what the engine planned, against its logits and rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]  # it ships none

from core.arrays import BoolArray, FloatArray, IntArray
from core.compare import Detail, Step, agrees_with_policy, first_difference
from core.forwards import Forwards
from core.mechanism import OwnPlace, OwnText, reads_what_it_names, sees_what_it_may
from core.model.loading import LoadedModel
from core.model.weights import Weights
from core.outcome import Ok
from core.policy_oracle import Expected, PolicyOracle, PolicyRules
from core.probe import probe_rows
from core.record import StepRecord
from core.reference import LooseRows, Reference
from core.spec import Probe
from core.tolerance import gap, logits_band, row_bands, wrong_floor
from core.trace import Trace
from core.verdict import LogitsVerdict, Standing, StepVerdict

_NOISE_FACTOR = 4.0
"""Logits are never wrong below this many times the error of a torch forward without a cache (seen
without a fault: up to 2.6 times in float32, 1.5 in bfloat16, 2.4 in float16), nor below the floor
of `core.tolerance.wrong_floor`."""


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
        return self.place.passage_id, self.place.first_row + self.place.n_rows - 1


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """The forwards of one call of `update`."""

    right: Forwards
    own: Forwards


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
        self._oracle = PolicyOracle(
            PolicyRules(
                spec.policy,
                spec.capacity,
                spec.sinks,
                spec.reassign_positions,
                config.position_limit,
            )
        )
        self._own = OwnText()
        self._weights = loaded.weights.to(getattr(torch, spec.dtype), "cpu")
        self._reference = Reference(config, self._weights.arrays())
        self._noise = 0.0
        self._n_threads = None if config.d_model >= _WIDE else 1
        self._threads = ThreadpoolController()

    def update(self) -> list[StepVerdict]:
        """Verdicts of the steps recorded since the last call, in order."""
        n_torch = torch.get_num_threads()
        torch.set_num_threads(self._n_threads or n_torch)
        try:
            with self._threads.limit(limits=self._n_threads):  # pyright: ignore[reportUnknownMemberType]
                new = self._judged()
        finally:
            torch.set_num_threads(n_torch)
        self.verdicts.extend(new)
        return new

    def _judged(self) -> list[StepVerdict]:
        records = self._trace.records[len(self.verdicts) :]
        cases = [self._case(record) for record in records]
        right = Forwards(
            self._reference,
            self._oracle.passage,
            [case.right_place for case in cases if case.right_place is not None],
        )
        own = Forwards(
            self._reference,
            lambda number: self._own.passages[number].passage(),
            [case.own_place for case in cases if case.own_place is not None],
            known=right,
        )
        self._find_spoiled(cases, own)
        noise = _noise_by_place(cases, right, self._weights)
        return [self._verdict(case, _Round(right, own), noise) for case in cases]

    # Before the forwards

    def _case(self, record: StepRecord) -> _Case:
        accepted = isinstance(record.outcome, Ok)
        loose: LooseRows | None = None
        if record.phase == "rollback":
            expected = self._oracle.rollback(record.n_rolled_back, engine_accepted=accepted)
        elif record.phase == "probe":
            expected, loose = self._probe(record, accepted=accepted)
        else:
            if record.phase == "new_prompt":
                self._oracle.new_prompt()
            expected = self._oracle.append(record.token_ids, engine_accepted=accepted)
        return _Case(record, expected, self._own.follow(record, loose))

    def _probe(self, record: StepRecord, *, accepted: bool) -> tuple[Expected, LooseRows | None]:
        n_keys, n_values = record.n_probed
        config, seed = self._trace.model.config, self._trace.spec.seed
        keys, values = probe_rows(config, Probe(n_keys, n_values), seed, record.step)
        keys, values = self._rounded(keys), self._rounded(values)
        expected = self._oracle.probe(
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
                is_off |= self._differ(run.stored_keys[layer], rows, [g.new_keys for g in given])
                is_off |= self._differ(run.values[layer], rows, [g.new_values for g in given])
            self._own.passages[number].spoiled.update(rows[is_off].tolist())

    def _differ(
        self, reference: FloatArray, rows: IntArray, given: Sequence[FloatArray]
    ) -> BoolArray:
        """[rows] whether the rows given [Hkv, n, D] are not the reference's [Hkv, N, D]."""
        off_by = gap(np.concatenate(given, axis=1), reference[:, rows]).max(axis=(0, 2))
        return ~(off_by <= row_bands(self._trace.spec.dtype, reference)[rows])

    def _verdict(
        self, case: _Case, runs: _Round, noise: dict[tuple[int, int], float]
    ) -> StepVerdict:
        logits = self._logits_verdict(case, runs.right, noise)
        policy = "right" if agrees_with_policy(case.record, case.expected) else "wrong"
        mechanism = "right" if self._kept_its_plan(case, runs.own) else "wrong"
        is_off = logits is not None and logits.standing == "wrong"
        difference = None
        if is_off or "wrong" in (policy, mechanism):
            records = self._trace.records[: case.record.step + 1]
            step = Step(records, case.expected, self._trace.spec.dtype)
            difference = first_difference(
                step, lambda: _detail(case, step, runs.right), logits_differ=is_off
            )
        return StepVerdict(case.record.step, case.expected, policy, mechanism, logits, difference)

    def _logits_verdict(
        self, case: _Case, right: Forwards, noise: dict[tuple[int, int], float]
    ) -> LogitsVerdict | None:
        place, logits = case.right_place, case.record.logits
        if place is None or logits is None:
            return None
        reference = right.logits(*place)
        self._noise = max(self._noise, noise[place])
        band = logits_band(self._trace.spec.dtype, reference)
        wrong_above = self._wrong_above(reference)
        error = _largest_gap(logits, reference)
        standing: Standing = "right"
        if not error <= band:
            standing = "rounding" if error <= wrong_above else "wrong"
        return LogitsVerdict(
            standing=standing,
            max_abs_error=error,
            kl=_kl(reference, logits),
            band=band,
            wrong_above=wrong_above,
            reference=reference,
            reference_token=int(reference.argmax()),
        )

    def _wrong_above(self, reference: FloatArray) -> float:
        """Error above which logits are wrong."""
        floor = wrong_floor(self._trace.spec.dtype, reference)
        return max(floor, _NOISE_FACTOR * self._noise)

    def _kept_its_plan(self, case: _Case, own: Forwards) -> bool:
        place, logits = case.own_place, case.record.logits
        if case.place is None or place is None or logits is None:
            return True
        reference = own.logits(*place)
        if not _largest_gap(logits, reference) <= self._wrong_above(reference):
            return False
        passage = self._own.passages[case.place.passage_id]
        n_loose = _n_loose(passage.loose, case.place.first_row)
        if not reads_what_it_names(case.record, passage, n_loose):
            return False
        return sees_what_it_may(case.record)


def _noise_by_place(
    cases: Sequence[_Case], right: Forwards, weights: Weights
) -> dict[tuple[int, int], float]:
    """For each right place, the error of a torch forward without a cache."""
    places = [case.right_place for case in cases if case.right_place is not None]
    by_passage = {number: right.noise(number, weights) for number in {n for n, _ in places}}
    return {
        (number, row): float(by_passage[number][row - right.run(number).first_row])
        for number, row in places
    }


def _detail(case: _Case, step: Step, right: Forwards) -> Detail | None:
    place = case.right_place
    if place is None:
        return None
    number, row = place
    run = right.detail(number, row - step.n_compared + 1, row)
    n_loose = _n_loose(right.passage(number).loose, row)
    return Detail(run, case.record.token_index[-1] - row, n_loose)


def _n_loose(loose: Sequence[LooseRows], row: int) -> int:
    """Rows without a token that the query at `row` of a passage rightly reads."""
    return sum(rows.keys.shape[2] for rows in loose if rows.first_reader <= row)


def _largest_gap(logits: FloatArray, reference: FloatArray) -> float:
    """The largest error; infinite or NaN where the engine has what the reference has not."""
    return float(gap(logits, reference).max())


def _kl(reference: FloatArray, logits: FloatArray) -> float:
    """Kullback-Leibler divergence in nats, from the reference to the engine.

    NaN where the engine's logits are no distribution.
    """
    with np.errstate(invalid="ignore"):
        right, mine = _log_softmax(reference), _log_softmax(logits.astype(np.float64))
        return float((np.exp(right) * (right - mine)).sum())


def _log_softmax(logits: FloatArray) -> FloatArray:
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())
