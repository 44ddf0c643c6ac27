"""How fast a step is: `python -m tests.benchmarks.engine_speed [--large] [--lengths]`.

Everything that is compared runs in this process, on one thread, in turns, so that a busy machine
slows all of it alike; medians and their ratios are printed as Markdown, and beside them the same of
the fastest tenth, which says more where other programs take the processor away. Nothing here is a
test; RESULTS.md has the figures of one machine.
"""

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import DynamicCache, GPT2LMHeadModel

from core.arrays import IntArray
from core.engine.forward import LayerTensors
from core.engine.recorder import Recorder, Witness
from core.engine.rows import RowSelection, RowStore
from core.engine.seams import Seams
from core.engine.types import LayerPlan
from core.judge import Judge
from core.model.config import ModelConfig
from core.model.loading import LoadedModel
from core.model.saving import save_model
from core.model.tokenizer import Tokenizer, byte_tokenizer_json
from core.model.uncached import uncached_logits
from core.model.weights import random_weights
from core.record import LayerRecord, LiveRows
from core.session import Session
from core.spec import RunSpec

_PROMPT = 64
_BLOCK = 10


class _NobodyLooks:
    """A witness who keeps nothing: what a step costs without the recording."""

    def __init__(self, store: RowStore) -> None: ...

    def begin(self, step: int, tokens: IntArray, plans: Sequence[LayerPlan]) -> None: ...

    def stored(self, layer: int, plan: LayerPlan, new_rows: torch.Tensor) -> None: ...

    def was_read(
        self, layer: int, plan: LayerPlan, rows: RowSelection, read: torch.Tensor
    ) -> None: ...

    def computed(self, layer: int, plan: LayerPlan, tensors: LayerTensors) -> None: ...

    def forget_from(self, token_index: int) -> None: ...

    def lost_sight(self) -> None: ...

    def taken(self) -> tuple[LayerRecord, ...]:
        return ()

    def live(self, slots: IntArray, seams: Sequence[Seams]) -> tuple[LiveRows, ...]:
        return ()


def model_of(n_layers: int, n_heads: int, width: int, vocab: int, n_ctx: int) -> LoadedModel:
    """A random GPT-2-like model."""
    config = ModelConfig(
        name="bench",
        scheme="learned",
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_head=width // n_heads,
        d_model=width,
        d_mlp=4 * width,
        vocab_size=vocab,
        n_ctx=n_ctx,
        norm="layer",
        norm_eps=1e-5,
        activation="gelu_tanh",
        rope_theta=1e4,
        eos_token_id=None,
    )
    tokenizer = Tokenizer(byte_tokenizer_json(), None)
    return LoadedModel(config, random_weights(config, 0), tokenizer, None)


def session_of(
    loaded: LoadedModel,
    n_prompt: int,
    n_steps: int,
    make_witness: Callable[[RowStore], Witness] = Recorder,
) -> Session:
    """A session that has read its prompt."""
    prompt = np.random.default_rng(0).integers(0, loaded.config.vocab_size, n_prompt)
    spec = RunSpec("bench", tuple(prompt.tolist()), steps=n_steps, capacity=n_prompt + n_steps)
    session = Session(spec, loaded, make_witness)
    session.advance()
    return session


def peer_of(loaded: LoadedModel, n_prompt: int) -> Callable[[], object]:
    """One decode step of transformers' GPT-2 with the same weights, attentions returned."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder), loaded.weights, loaded.tokenizer.json_text)
        peer = GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager").eval()
    _check_same(loaded, peer)
    cache = DynamicCache()
    state = {"ids": torch.zeros(1, n_prompt, dtype=torch.long)}

    def step() -> None:
        out = peer(state["ids"], past_key_values=cache, use_cache=True, output_attentions=True)
        state["ids"] = out.logits[:, -1:].argmax(-1)

    with torch.inference_mode():
        step()
    return step


def _check_same(loaded: LoadedModel, peer: GPT2LMHeadModel) -> None:
    token_ids = torch.arange(8)[None]
    with torch.inference_mode():
        gap = (
            (peer(token_ids).logits[0] - uncached_logits(loaded.weights, token_ids)[0]).abs().max()
        )
    if gap > 1e-3:
        raise SystemExit(f"transformers computes other logits: off by {gap:.2g}")


def durations_ms(calls: Sequence[Callable[[], object]], n: int) -> list[list[float]]:
    """`n` durations of each call, shortest first; a block of each in turn, as decoders run."""
    durations: list[list[float]] = [[] for _ in calls]
    with torch.inference_mode():
        for start in range(0, n, _BLOCK):
            for call, mine in zip(calls, durations, strict=True):
                for _ in range(min(_BLOCK, n - start)):
                    begun = time.perf_counter()
                    call()
                    mine.append(1e3 * (time.perf_counter() - begun))
    return [sorted(mine) for mine in durations]


def medians_ms(calls: Sequence[Callable[[], object]], n: int) -> list[float]:
    """Median duration of each call over `n`."""
    return [statistics.median(mine) for mine in durations_ms(calls, n)]


def against_transformers(name: str, loaded: LoadedModel, n: int) -> None:
    """Recorded and unrecorded steps beside transformers'."""
    recorded = session_of(loaded, _PROMPT, n)
    bare = session_of(loaded, _PROMPT, n, make_witness=_NobodyLooks)
    calls = (recorded.advance, bare.advance, peer_of(loaded, _PROMPT))
    durations = durations_ms(calls, n)
    for of, place in (("median", n // 2), ("fastest tenth", n // 10)):
        mine, unrecorded, peer = (each[place] for each in durations)
        print(
            f"| {name} | {of} | {mine:.3f} | {unrecorded:.3f} | {peer:.3f} "
            f"| {mine / peer:.2f} | {mine / unrecorded:.2f} |"
        )


def against_oracles(loaded: LoadedModel, n_tokens: int) -> None:
    """A whole run, and the judging of it."""
    engine: list[float] = []
    oracles: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        session = session_of(loaded, 8, n_tokens - 8)
        trace = session.run()
        middle = time.perf_counter()
        verdicts = Judge(trace, loaded).update()
        oracles.append(time.perf_counter() - middle)
        engine.append(middle - start)
        if any(verdict.is_wrong for verdict in verdicts):
            raise SystemExit("a run without a fault was judged wrong")
    run, judged = 1e3 * statistics.median(engine), 1e3 * statistics.median(oracles)
    print(f"| {n_tokens} tokens | {run:.0f} | {judged:.0f} | {judged / run:.2f} |")


def by_length(loaded: LoadedModel, lengths: Sequence[int]) -> None:
    """A step at each length with a cache, and the same step without one."""
    for length in lengths:
        n = 9
        session = session_of(loaded, length - n, n)
        bare = session_of(loaded, length - n, n, make_witness=_NobodyLooks)
        token_ids = torch.zeros(1, length, dtype=torch.long)

        def without_cache(token_ids: torch.Tensor = token_ids) -> None:
            uncached_logits(loaded.weights, token_ids)

        mine, unrecorded = medians_ms((session.advance, bare.advance), n)
        (full,) = medians_ms((without_cache,), 3)
        print(f"| {length} | {mine:.3f} | {unrecorded:.3f} | {full:.1f} | {full / mine:.0f} |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="GPT-2-small size too (about 2 GB)")
    parser.add_argument("--lengths", action="store_true", help="64 to 4,096 tokens too")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}, one thread\n")
    print("| model | of | recorded ms | unrecorded ms | transformers ms | ratio | recording |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    against_transformers("4 x 128", model_of(4, 4, 128, 700, 1024), 200)
    if chosen.large:
        against_transformers("12 x 768 (GPT-2 small)", model_of(12, 12, 768, 50257, 1024), 40)
    print("\n| run | engine ms | oracles ms | ratio |\n| --- | --- | --- | --- |")
    against_oracles(model_of(4, 4, 128, 700, 1024), 256)
    if chosen.lengths:
        print("\n| length | recorded ms | unrecorded ms | no cache ms | times |")
        print("| --- | --- | --- | --- | --- |")
        by_length(model_of(4, 4, 128, 700, 4096), (64, 128, 256, 512, 1024, 2048, 4096))


if __name__ == "__main__":
    main()
