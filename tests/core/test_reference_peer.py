"""The reference against transformers: the three families, random weights, float64."""

import math

import numpy as np
import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MptConfig,
    MptForCausalLM,
)

from core.model.config import ModelConfig
from core.reference import Passage, Reference

N_LAYERS, N_HEADS, D_HEAD, D_MODEL, VOCABULARY, N_CTX = 3, 4, 8, 32, 37, 64
ROPE_THETA = 500.0
EPS = 1e-5


def randomise(model, seed):
    """Weights, biases and norms at random, large enough for sharp attention."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            if parameter.ndim == 1:
                parameter.copy_(1 + 0.3 * noise)
            else:
                parameter.copy_(2 * noise / math.sqrt(D_MODEL))
    return model.eval()


def shape(scheme, n_heads=N_HEADS, n_kv_heads=N_HEADS, d_mlp=4 * D_MODEL, d_head=D_HEAD):
    return ModelConfig(
        name="peer",
        scheme=scheme,
        n_layers=N_LAYERS,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        d_model=n_heads * d_head,
        d_mlp=d_mlp,
        vocab_size=VOCABULARY,
        n_ctx=N_CTX,
        norm="rms" if scheme == "rope" else "layer",
        norm_eps=EPS,
        activation={"learned": "gelu_tanh", "rope": "silu_gated", "alibi": "gelu"}[scheme],
        rope_theta=ROPE_THETA,
        eos_token_id=None,
    )


def numpy_of(named):
    return {name: parameter.detach().numpy() for name, parameter in named.items()}


def gpt2():
    """GPT-2 keeps its matrices as [in, out]."""
    peer_config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=N_CTX,
        n_embd=D_MODEL,
        n_layer=N_LAYERS,
        n_head=N_HEADS,
        layer_norm_epsilon=EPS,
        attn_implementation="eager",
    )
    peer = randomise(GPT2LMHeadModel(peer_config).double(), 1)
    w = numpy_of(peer.state_dict())
    arrays = {
        "embedding": w["transformer.wte.weight"],
        "position_embedding": w["transformer.wpe.weight"],
        "final_norm_weight": w["transformer.ln_f.weight"],
        "final_norm_bias": w["transformer.ln_f.bias"],
        "head": w["lm_head.weight"].T,
    }
    parts = {
        "attn_norm": "ln_1",
        "qkv": "attn.c_attn",
        "out": "attn.c_proj",
        "mlp_norm": "ln_2",
        "up": "mlp.c_fc",
        "down": "mlp.c_proj",
    }
    for layer in range(N_LAYERS):
        for ours, theirs in parts.items():
            for kind in ("weight", "bias"):
                arrays[f"layers.{layer}.{ours}_{kind}"] = w[
                    f"transformer.h.{layer}.{theirs}.{kind}"
                ]
    return peer, shape("learned"), arrays


class DoubleRotary(torch.nn.Module):
    """The angles of Llama, which transformers takes in float32 whatever the model's type."""

    def forward(self, x, position_ids):
        frequencies = ROPE_THETA ** (-torch.arange(0, D_HEAD, 2, dtype=torch.float64) / D_HEAD)
        angles = position_ids[..., None].double() * frequencies
        angles = torch.cat([angles, angles], dim=-1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def llama():
    peer_config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=D_MODEL,
        intermediate_size=48,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=N_HEADS,
        num_key_value_heads=2,
        head_dim=D_HEAD,
        max_position_embeddings=N_CTX,
        rms_norm_eps=EPS,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
        tie_word_embeddings=False,
        attn_implementation="sdpa",
    )
    peer = randomise(LlamaForCausalLM(peer_config).double(), 2)
    w = numpy_of(peer.state_dict())
    arrays = {
        "embedding": w["model.embed_tokens.weight"],
        "final_norm_weight": w["model.norm.weight"],
        "head": w["lm_head.weight"].T,
    }
    for layer in range(N_LAYERS):
        mine = {
            name: w[f"model.layers.{layer}.{name}.weight"]
            for name in (
                *(f"self_attn.{part}_proj" for part in "qkvo"),
                *(f"mlp.{part}_proj" for part in ("gate", "up", "down")),
                "input_layernorm",
                "post_attention_layernorm",
            )
        }
        arrays |= {
            f"layers.{layer}.attn_norm_weight": mine["input_layernorm"],
            f"layers.{layer}.qkv_weight": np.concatenate(
                [mine[f"self_attn.{part}_proj"] for part in "qkv"]
            ).T,
            f"layers.{layer}.out_weight": mine["self_attn.o_proj"].T,
            f"layers.{layer}.mlp_norm_weight": mine["post_attention_layernorm"],
            f"layers.{layer}.gate_weight": mine["mlp.gate_proj"].T,
            f"layers.{layer}.up_weight": mine["mlp.up_proj"].T,
            f"layers.{layer}.down_weight": mine["mlp.down_proj"].T,
        }
    return peer, shape("rope", n_kv_heads=2, d_mlp=48), arrays


def in_double(peer):
    """Llama with torch's own RMSNorm and with angles in float64: nothing left in float32."""
    peer.model.rotary_emb = DoubleRotary()
    for layer in peer.model.layers:
        layer.input_layernorm = double_norm(layer.input_layernorm)
        layer.post_attention_layernorm = double_norm(layer.post_attention_layernorm)
    peer.model.norm = double_norm(peer.model.norm)
    return peer


def double_norm(norm):
    replacement = torch.nn.RMSNorm(D_MODEL, eps=EPS, dtype=torch.float64)
    replacement.load_state_dict({"weight": norm.weight.detach()})
    return replacement


def mpt(n_heads):
    peer_config = MptConfig(
        vocab_size=VOCABULARY,
        d_model=n_heads * D_HEAD,
        n_layers=N_LAYERS,
        n_heads=n_heads,
        max_seq_len=N_CTX,
        layer_norm_epsilon=EPS,
    )
    peer = randomise(MptForCausalLM(peer_config).double(), 3)
    w = numpy_of(peer.state_dict())
    arrays = {
        "embedding": w["transformer.wte.weight"],
        "final_norm_weight": w["transformer.norm_f.weight"],
        "head": w["lm_head.weight"].T,
    }
    parts = {
        "attn_norm": "norm_1",
        "qkv": "attn.Wqkv",
        "out": "attn.out_proj",
        "mlp_norm": "norm_2",
        "up": "ffn.up_proj",
        "down": "ffn.down_proj",
    }
    for layer in range(N_LAYERS):
        for ours, theirs in parts.items():
            arrays[f"layers.{layer}.{ours}_weight"] = w[
                f"transformer.blocks.{layer}.{theirs}.weight"
            ].T
    return peer, shape("alibi", n_heads, n_heads, 4 * n_heads * D_HEAD), arrays


def token_ids(n=40):
    return np.random.default_rng(4).integers(0, VOCABULARY, n)


def peer_logits(peer, **inputs):
    with torch.no_grad():
        return peer(torch.tensor(token_ids())[None], use_cache=False, **inputs).logits[0].numpy()


def our_logits(config, arrays, readable, position_ids=None):
    n = len(readable)
    positions = np.arange(n) if position_ids is None else position_ids
    return (
        Reference(config, arrays).forward(Passage(token_ids(n), positions, None, readable)).logits
    )


def additive(readable):
    """[1, 1, N, N] the mask in the form that transformers takes."""
    lowest = torch.finfo(torch.float64).min
    zeros = torch.zeros(readable.shape, dtype=torch.float64)
    return zeros.masked_fill(torch.tensor(~readable), lowest)[None, None]


CAUSAL = np.tri(40, dtype=bool)
BAND = CAUSAL & ~np.tri(40, k=-9, dtype=bool)
SINKS_AND_BAND = BAND | (CAUSAL & (np.arange(40) < 3))
MASKS = pytest.mark.parametrize(
    "readable", [CAUSAL, BAND, SINKS_AND_BAND], ids=["causal", "band", "sinks"]
)


@MASKS
def test_it_equals_gpt2(readable):
    peer, config, arrays = gpt2()
    expected = peer_logits(peer, attention_mask=additive(readable))
    assert expected.std() > 1
    np.testing.assert_allclose(our_logits(config, arrays, readable), expected, atol=1e-10, rtol=0)


def test_it_equals_gpt2_without_any_mask_given():
    peer, config, arrays = gpt2()
    np.testing.assert_allclose(
        our_logits(config, arrays, CAUSAL), peer_logits(peer), atol=1e-10, rtol=0
    )


@MASKS
def test_it_equals_llama(readable):
    peer, config, arrays = llama()
    expected = peer_logits(in_double(peer), attention_mask=additive(readable))
    assert expected.std() > 1
    np.testing.assert_allclose(our_logits(config, arrays, readable), expected, atol=1e-10, rtol=0)


def test_it_equals_llama_as_it_comes_within_its_float32_parts():
    peer, config, arrays = llama()
    np.testing.assert_allclose(
        our_logits(config, arrays, CAUSAL), peer_logits(peer), atol=2e-4, rtol=0
    )


@pytest.mark.parametrize("family", [gpt2, llama])
def test_it_equals_its_peer_at_other_positions(family):
    peer, config, arrays = family()
    peer = in_double(peer) if config.scheme == "rope" else peer
    positions = np.arange(40) * 7 % 41
    expected = peer_logits(
        peer, position_ids=torch.tensor(positions)[None], attention_mask=additive(CAUSAL)
    )
    np.testing.assert_allclose(
        our_logits(config, arrays, CAUSAL, positions), expected, atol=1e-10, rtol=0
    )


@pytest.mark.parametrize("n_heads", [4, 6], ids=["power of two", "no power of two"])
def test_it_equals_mpt(n_heads, monkeypatch):
    peer, config, arrays = mpt(n_heads)
    # MPT takes its softmax in float32, through Tensor.float.
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    expected = peer_logits(peer)
    assert expected.std() > 1
    np.testing.assert_allclose(our_logits(config, arrays, CAUSAL), expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("readable", [BAND, SINKS_AND_BAND], ids=["band", "sinks"])
def test_it_equals_mpt_with_keys_masked_per_query(readable, monkeypatch):
    peer, config, arrays = mpt(4)
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    is_masked = torch.tensor(~readable)[None, None]
    monkeypatch.setattr(
        "transformers.models.mpt.modeling_mpt.create_causal_mask", lambda **_: is_masked
    )
    np.testing.assert_allclose(
        our_logits(config, arrays, readable), peer_logits(peer), atol=1e-10, rtol=0
    )
