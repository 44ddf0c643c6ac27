"""Models of the peer library, tiny and random."""

import torch
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    Qwen2Config,
)


def _config(kind, **more) -> PreTrainedConfig:
    return kind(
        vocab_size=97,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        **more,
    )


CONFIGS = {
    "gpt2": lambda: GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "llama": lambda: _config(LlamaConfig),
    "mistral": lambda: _config(MistralConfig, sliding_window=6),
    "qwen2": lambda: _config(Qwen2Config),
}


def _maker(name, attention, seed, dtype):
    def make():
        torch.manual_seed(seed)
        config = CONFIGS[name]()
        config.initializer_range = 0.2  # at the usual 0.02 attention hardly matters
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
        return model.to(getattr(torch, dtype))

    return make


ATTENTIONS, DTYPES, N_SEEDS = ("eager", "sdpa"), ("float32", "bfloat16", "float16"), 5
for _name in CONFIGS:
    for _attention in ATTENTIONS:
        for _seed in range(N_SEEDS):
            for _dtype in DTYPES:
                _made = _maker(_name, _attention, _seed, _dtype)
                globals()[f"{_name}_{_attention}_{_seed}_{_dtype}"] = _made
