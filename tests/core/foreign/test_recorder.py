import inspect
import re
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    DynamicCache,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    MistralConfig,
    StaticCache,
)

from core.errors import TraceError
from core.foreign import kvscope_recorder
from core.foreign.calls import given_of
from core.foreign.checks import facts, problems
from core.foreign.file import read_foreign

ROOT = Path(__file__).parents[3]
PROMPT = torch.tensor([[5, 6, 7, 8, 9]])
SIZES = {"vocab_size": 61, "bos_token_id": 0, "eos_token_id": None}
LLAMA = SIZES | {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
IS_NEW = "cache" in inspect.signature(GPT2LMHeadModel.forward).parameters
CACHE = "cache" if IS_NEW else "past_key_values"
"""What transformers calls a cache: the first since its version 5.24."""

CONFIGS = {
    "gpt2": lambda: GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, **SIZES),
    "llama": lambda: LlamaConfig(**LLAMA),
    "mistral": lambda: MistralConfig(sliding_window=4, **LLAMA),
}


def model_of(name: str = "gpt2", dtype: str = "float32") -> torch.nn.Module:
    torch.manual_seed(1)
    config = CONFIGS[name]()
    config.initializer_range = 0.2  # at the usual 0.02 attention hardly matters
    return AutoModelForCausalLM.from_config(config).to(getattr(torch, dtype)).eval()


@pytest.fixture(scope="module")
def gpt2():
    return model_of()


def generated(model, n=6, **more):
    with kvscope_recorder(model) as trace:
        out = model.generate(PROMPT, max_new_tokens=n, do_sample=False, pad_token_id=0, **more)
    return trace.trace(), out[0].tolist()


# What is kept


def test_generate_is_recorded_call_by_call(gpt2):
    trace, out = generated(gpt2)
    assert problems(trace) == []
    assert trace.token_ids.tolist() == out[:-1]
    assert trace.n_tokens.tolist() == [5, 1, 1, 1, 1, 1]
    assert trace.position_ids.tolist() == list(range(10))
    assert trace.cache_length.tolist() == [5, 6, 7, 8, 9, 10]
    assert trace.logits.argmax(axis=1).tolist() == out[5:]
    assert re.fullmatch(r"transformers [\d.]+, GPT2LMHeadModel", trace.engine)


def test_the_reference_is_the_models_own_forward_over_the_text_without_a_cache(gpt2):
    trace, out = generated(gpt2)
    with torch.no_grad():
        whole = gpt2(torch.tensor([out]), use_cache=False).logits[0]
    assert abs(trace.reference - whole[4:10].numpy()).max() <= 1e-5


def test_the_reference_is_asked_for_without_a_cache(gpt2):
    with kvscope_recorder(gpt2) as trace:
        gpt2.generate(PROMPT, max_new_tokens=3, do_sample=False, pad_token_id=0)
    asked = []
    hook = gpt2.register_forward_pre_hook(lambda *call: asked.append(call[2]), with_kwargs=True)
    trace.trace()
    hook.remove()
    assert [named["use_cache"] for named in asked] == [False] * 4
    assert not any(CACHE in named for named in asked)


def test_what_was_saved_is_read_back(gpt2, tmp_path):
    with kvscope_recorder(gpt2) as trace:
        gpt2.generate(PROMPT, max_new_tokens=3, do_sample=False, pad_token_id=0)
    saved = trace.save(tmp_path / "run.kvtrace")
    read = read_foreign(tmp_path / "run.kvtrace").trace
    assert (read.standings, read.errors) == (saved.standings, saved.errors)
    assert facts(read) == facts(saved)


def test_the_three_lines_of_the_readme_record(gpt2, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "core" / "README.md").read_text("utf-8")
    code = re.findall(r"```python\n(.*?)```", text.split("## Traces from elsewhere\n")[1], re.S)
    exec(code[0], {"model": gpt2, "token_ids": PROMPT})  # noqa: S102
    assert set(read_foreign(tmp_path / "run.kvtrace").trace.standings) == {"right"}


def test_a_loop_of_ones_own_is_recorded_and_takes_positions_that_were_not_given_as_none(gpt2):
    with kvscope_recorder(gpt2) as trace, torch.no_grad():
        first = gpt2(PROMPT, use_cache=True)
        gpt2(torch.tensor([[1, 2]]), **{CACHE: first[CACHE]})
    found = trace.trace()
    assert found.n_tokens.tolist() == [5, 2]
    assert found.position_ids.tolist() == [-1] * 7
    assert found.standings == ["right", "right"]
    assert "position ids: none was given, so the model chose them" in facts(found)


def test_after_the_block_nothing_is_recorded_and_no_hook_is_left(gpt2):
    with kvscope_recorder(gpt2) as trace:
        gpt2(PROMPT)
    gpt2(PROMPT)
    assert trace.n_calls == 1
    assert not gpt2._forward_hooks
    assert not gpt2._forward_pre_hooks


def test_calls_before_an_error_of_the_users_code_are_kept(gpt2):
    def act():
        with kvscope_recorder(gpt2) as trace:
            traces.append(trace)
            gpt2(PROMPT)
            raise ZeroDivisionError

    traces = []
    with pytest.raises(ZeroDivisionError):
        act()
    assert traces[0].trace().n_calls == 1


# Right caches of every kind are right


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", CONFIGS)
def test_right_decoding_is_not_called_wrong(name, cache, dtype):
    trace, _ = generated(model_of(name, dtype), cache_implementation=cache)
    assert trace.dtype == dtype
    assert "wrong" not in trace.standings
    if dtype in ("float32", "float64"):
        assert set(trace.standings) == {"right"}
    assert not any("not the token" in line for line in facts(trace))


# Wrong ones are wrong


class CountsFromZero(DynamicCache):
    def get_seq_length(self, layer_idx=0):
        return 0


class ForgetsTheFirst(DynamicCache):
    def update(self, keys, values, layer_idx, *more, **others):
        keys, values = super().update(keys, values, layer_idx, *more, **others)
        return keys.roll(1, -2), values


def looped(model, cache, ids, **given):
    """A decode loop as a person writes it: the prompt, then a token at a time."""
    with kvscope_recorder(model) as trace, torch.no_grad():
        for first, end in ((0, 3), (3, 4), (4, 5)):
            more = {name: values[first:end][None] for name, values in given.items()}
            model(ids[:, first:end], **{CACHE: cache}, **more)
    return trace.trace()


def test_a_cache_that_reports_no_length_is_seen_in_length_and_logits(gpt2):
    trace = looped(gpt2, CountsFromZero(), PROMPT)
    said = "\n".join(facts(trace))
    assert "cache length: not the tokens read so far first in call 0: 0, where 3 were read" in said
    assert trace.standings == ["right", "wrong", "wrong"]
    assert "first wrong: call 1 (token 3)" in said


def test_positions_that_start_again_are_seen_in_positions_and_logits(gpt2):
    trace = looped(gpt2, DynamicCache(), PROMPT, position_ids=torch.tensor([0, 1, 2, 0, 0]))
    said = "\n".join(facts(trace))
    assert "position ids: not the token index first in call 1: token 3 at position 0" in said
    assert trace.standings == ["right", "wrong", "wrong"]


def test_a_cache_that_mixes_rows_up_is_wrong_in_its_logits_alone(gpt2):
    trace, _ = generated(gpt2, **{CACHE: ForgetsTheFirst()})
    assert "wrong" in trace.standings
    assert trace.position_ids.tolist() == list(range(10))


def test_several_positions_for_one_token_are_kept_as_none(gpt2):
    positions = torch.arange(15).reshape(3, 1, 5)
    call = given_of(gpt2, (PROMPT,), {"position_ids": positions})
    assert call.position_ids == [-1] * 5
    assert call.token_ids == PROMPT[0].tolist()


# What cannot be recorded


def refused(model, said, act):
    with pytest.raises(TraceError, match=said) as caught, kvscope_recorder(model) as trace:
        act()
    assert "\n" not in str(caught.value)
    return trace


def test_several_texts_at_once_are_refused(gpt2):
    said = r"input_ids have the shape \[2, 5\]; a trace holds one text"
    refused(gpt2, said, lambda: gpt2(PROMPT.repeat(2, 1)))


def test_embeddings_without_token_ids_are_refused(gpt2):
    embedded = torch.zeros(1, 3, 32)
    refused(gpt2, "a call has no input_ids", lambda: gpt2(inputs_embeds=embedded))


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_padding_is_refused(gpt2, cache):
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    refused(
        gpt2,
        "the attention mask hides 2 tokens",
        lambda: gpt2.generate(
            PROMPT,
            attention_mask=mask,
            max_new_tokens=2,
            pad_token_id=0,
            cache_implementation=cache,
        ),
    )


def test_a_call_that_forgets_the_cache_is_refused_and_the_first_one_kept(gpt2):
    def act():
        gpt2(PROMPT, use_cache=True)
        gpt2(torch.tensor([[1]]))

    trace = refused(gpt2, "call 1 comes without a cache, and so begins another text", act)
    assert trace.n_calls == 1


def test_a_second_text_is_refused(gpt2):
    def act():
        for _ in range(2):
            gpt2.generate(PROMPT, max_new_tokens=2, pad_token_id=0)

    refused(gpt2, "call 2 comes with another cache than the last, and so begins", act)


def test_a_cache_that_was_filled_before_is_refused(gpt2):
    cache = DynamicCache()
    gpt2(PROMPT, **{CACHE: cache})
    said = "the cache holds 5 rows before the first call, of tokens that nobody saw"
    refused(gpt2, said, lambda: gpt2(PROMPT, **{CACHE: cache}))


def test_a_cache_that_was_cropped_between_two_calls_is_refused(gpt2):
    def act():
        cache = DynamicCache(config=gpt2.config)
        gpt2(PROMPT, **{CACHE: cache})
        cache.crop(-2)
        gpt2(torch.tensor([[1]]), **{CACHE: cache})

    refused(gpt2, "its length was 5 after call 0 and is 3", act)


def test_a_model_without_logits_is_refused(gpt2):
    base = gpt2.transformer
    refused(base, r"no logits \[1, tokens, vocabulary\]; record a causal", lambda: base(PROMPT))


def test_a_recording_without_a_call_says_what_may_be_the_reason(gpt2):
    with kvscope_recorder(gpt2) as trace:
        pass
    with pytest.raises(TraceError, match=r"no call was recorded.*of a wrapper, the one inside"):
        trace.trace()


# What cannot be judged


def test_a_model_with_dropout_is_recorded_and_not_judged(gpt2):
    gpt2.train()
    try:
        trace, _ = generated(gpt2)
    finally:
        gpt2.eval()
    assert trace.reference is None
    assert re.match(r"two forwards without a cache .* differ by .*model.eval\(\)", trace.unjudged)


def test_a_model_whose_logits_hang_on_the_length_is_not_judged():
    model = model_of("llama")
    plain = model.forward

    def forward(input_ids=None, use_cache=None, **more):
        answer = plain(input_ids=input_ids, use_cache=use_cache, **more)
        answer.logits = answer.logits + 0.1 * input_ids.shape[1]
        return answer

    model.forward = forward
    trace, _ = generated(model)
    assert trace.reference is None
    assert trace.unjudged is not None
    assert "something hangs on the length" in trace.unjudged


def test_a_static_cache_that_was_made_before_is_recorded(gpt2):
    cache = StaticCache(config=gpt2.config, max_cache_len=12)
    trace, _ = generated(gpt2, **{CACHE: cache})
    assert trace.standings == ["right"] * 6
