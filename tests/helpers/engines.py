"""Engines put together by hand, to run them with a rule, a policy or a witness of one's own."""

from collections.abc import Callable
from dataclasses import replace

import torch

from core.engine.engine import Engine
from core.engine.forward import Model
from core.engine.policies import Kept, Numbering, Policy, Refuse
from core.engine.recorder import Recorder, Witness
from core.engine.rows import RowStore
from core.engine.sampling import Greedy
from core.engine.seams import CORRECT, Seams
from core.model.loading import LoadedModel
from core.script import Script
from core.spec import RunSpec
from core.trace import ModelInfo, Trace
from tests.helpers.runs import tiny


class ByHand:
    """An engine with its store, so that a test can look behind it."""

    def __init__(
        self,
        scheme: str,
        capacity: int,
        *,
        seams: Seams = CORRECT,
        policy: Policy | None = None,
        numbering: Numbering | None = None,
        longest_append: int = 8,
        dtype: torch.dtype = torch.float64,
        make_witness: Callable[[RowStore], Witness] = Recorder,
        loaded: LoadedModel | None = None,
        first_rows: int | None = None,
        is_quantised: bool = False,
    ) -> None:
        loaded = loaded or tiny(scheme)
        config, weights = loaded.config, loaded.weights.to(dtype, "cpu")
        policy = policy or Refuse()
        n_rows = capacity + (longest_append if policy.evicts_at_commit else 0)
        self.store = RowStore.allocate(
            config.n_layers,
            config.n_kv_heads,
            n_rows,
            config.d_head,
            weights.embedding,
            seams.allocate,
            first_rows,
        )
        self.engine = Engine(
            model=Model.of(weights, is_quantised=is_quantised),
            policy=policy,
            numbering=numbering or Kept(),
            sampling=Greedy(),
            seams_at=lambda step: (seams,) * config.n_layers,
            store=self.store,
            witness=make_witness(self.store),
            capacity=capacity,
        )


def run_by_hand(
    spec: RunSpec,
    *,
    seams: Seams = CORRECT,
    policy: Policy | None = None,
    numbering: Numbering | None = None,
    make_witness: Callable[[RowStore], Witness] = Recorder,
) -> Trace:
    """The run of a spec by an engine of one's own; the trace claims that the spec made it."""
    loaded = tiny(spec.model.removeprefix("tiny-"))
    by_hand = ByHand(
        spec.model.removeprefix("tiny-"),
        spec.capacity,
        seams=seams,
        policy=policy,
        numbering=numbering,
        longest_append=spec.longest_append,
        dtype=getattr(torch, spec.dtype),
        loaded=loaded,
        make_witness=make_witness,
    )
    trace = Trace(spec, ModelInfo(spec.model, None, loaded.config))
    script = Script(spec, loaded.config)
    while True:
        request = script.next_request(len(trace.records), by_hand.engine.dtype)
        if request is None:
            trace.end = script.end
            return trace
        record = by_hand.engine.step(request)
        script.done(record)
        trace.records.append(record)


def with_record(trace: Trace, step: int, **changes: object) -> Trace:
    """The trace with one record changed, as if the engine had said so."""
    records = list(trace.records)
    records[step] = replace(records[step], **changes)
    return replace(trace, records=records)


def with_layer(trace: Trace, step: int, layer: int, **changes: object) -> Trace:
    """The trace with one layer of one record changed."""
    layers = list(trace.records[step].layers)
    layers[layer] = replace(layers[layer], **changes)
    return with_record(trace, step, layers=tuple(layers))
