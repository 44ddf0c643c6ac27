"""The forward without a cache and the checkpoint layout, against the library that owns both."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from core.model.config import ModelConfig
from core.model.loading import load_model, save_model
from core.model.tokenizer import Tokenizer, byte_tokenizer_json
from core.model.uncached import uncached_logits
from core.model.weights import Weights

TOKEN_IDS = torch.randint(0, 256, (2, 48), generator=torch.Generator().manual_seed(3))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    transformers.utils.logging.disable_progress_bar()
    yield
    transformers.utils.logging.enable_progress_bar()


class Float64Rotary(nn.Module):
    """The angles of the peer's Llama, which it computes in float32 whatever the model's type."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        exponents = torch.arange(0, config.d_head, 2, dtype=torch.float64) / config.d_head
        self.frequencies = config.rope_theta**-exponents

    def forward(self, _x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        angles = position_ids.double()[..., None] * self.frequencies
        return torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()


def _rms_norm(norm: LlamaRMSNorm, x: Tensor) -> Tensor:
    return nn.functional.rms_norm(x, norm.weight.shape, norm.weight, norm.variance_epsilon)


@pytest.fixture
def in_float64(monkeypatch: pytest.MonkeyPatch) -> Callable[[nn.Module, ModelConfig], nn.Module]:
    """Makes a float64 peer of a float32 one.

    Its MPT takes the softmax in float32, its Llama the angles and the norms.
    """

    def convert(peer: nn.Module, config: ModelConfig) -> nn.Module:
        as_float = torch.Tensor.float
        monkeypatch.setattr(
            torch.Tensor, "float", lambda x: x if x.dtype == torch.float64 else as_float(x)
        )
        peer = peer.double()
        if config.scheme == "rope":
            peer.get_submodule("model").register_module("rotary_emb", Float64Rotary(config))
            monkeypatch.setattr(LlamaRMSNorm, "forward", _rms_norm)
        return peer

    return convert


def _saved(folder: Path, weights: Weights) -> nn.Module:
    save_model(folder, weights, byte_tokenizer_json())
    return AutoModelForCausalLM.from_pretrained(folder).eval()


def _peer_logits(peer: nn.Module) -> Tensor:
    with torch.no_grad():
        return peer(TOKEN_IDS).logits


def _largest_difference(first: Tensor, second: Tensor) -> float:
    return (first - second).abs().max().item()


def test_a_saved_model_gives_the_peer_the_same_logits(tmp_path: Path, weights: Weights) -> None:
    peer = _saved(tmp_path / "model", weights)

    assert _largest_difference(_peer_logits(peer), uncached_logits(weights, TOKEN_IDS)) <= 1e-4


def test_in_float64_the_peer_agrees_to_ten_digits(
    tmp_path: Path, weights: Weights, in_float64: Callable[[nn.Module, ModelConfig], nn.Module]
) -> None:
    peer = in_float64(_saved(tmp_path / "model", weights), weights.config)
    double = weights.to(torch.float64, "cpu")

    assert _largest_difference(_peer_logits(peer), uncached_logits(double, TOKEN_IDS)) <= 1e-10


@pytest.mark.parametrize("config", ["learned", "rope", "rope-wide-heads"], indirect=True)
def test_given_positions_are_used_as_the_peer_uses_them(tmp_path: Path, weights: Weights) -> None:
    peer = _saved(tmp_path / "model", weights)
    position_ids = torch.arange(48) * 3 + 5

    with torch.no_grad():
        expected = peer(TOKEN_IDS, position_ids=position_ids.expand(2, -1)).logits

    found = uncached_logits(weights, TOKEN_IDS, position_ids)
    assert _largest_difference(expected, found) <= 1e-4


def test_what_the_peer_saves_is_loaded_with_the_same_numbers(
    tmp_path: Path, weights: Weights
) -> None:
    peer = _saved(tmp_path / "ours", weights)
    peer.save_pretrained(tmp_path / "theirs")
    (tmp_path / "theirs" / "tokenizer.json").write_text(byte_tokenizer_json())

    loaded = load_model(str(tmp_path / "theirs"))

    expected = weights.tensors()
    assert loaded.weights.tensors().keys() == expected.keys()
    assert all(torch.equal(t, expected[name]) for name, t in loaded.weights.tensors().items())


def test_shards_of_the_peer_are_put_together(tmp_path: Path, weights: Weights) -> None:
    peer = _saved(tmp_path / "ours", weights)
    peer.save_pretrained(tmp_path / "theirs", max_shard_size="60KB")
    (tmp_path / "theirs" / "tokenizer.json").write_text(byte_tokenizer_json())

    loaded = load_model(str(tmp_path / "theirs"))

    assert len(list((tmp_path / "theirs").glob("*.safetensors"))) > 1
    expected = weights.tensors()
    assert all(torch.equal(t, expected[name]) for name, t in loaded.weights.tensors().items())


def test_the_peer_reads_the_saved_tokenizer_alike(tmp_path: Path, weights: Weights) -> None:
    text = "Ida left the lamp outside .\n日本"
    save_model(tmp_path / "model", weights, byte_tokenizer_json())

    peer = AutoTokenizer.from_pretrained(tmp_path / "model")

    assert tuple(peer(text).input_ids) == Tokenizer(byte_tokenizer_json(), None).encode(text)


def _peer(settings: transformers.PreTrainedConfig, folder: Path) -> nn.Module:
    """A random model of the peer's own making, saved by it."""
    torch.manual_seed(0)
    peer = AutoModelForCausalLM.from_config(settings).eval()
    with torch.no_grad():
        for parameter in peer.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    peer.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(byte_tokenizer_json())
    return peer


SIZES = {
    "vocab_size": 260,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "eos_token_id": 3,
    "bos_token_id": 1,
}
PEERS = {
    "llama": transformers.LlamaConfig(**SIZES),
    "llama-biases": transformers.LlamaConfig(**SIZES, attention_bias=True),
    "llama-tied": transformers.LlamaConfig(**SIZES, tie_word_embeddings=True),
    "llama-head-dim": transformers.LlamaConfig(**SIZES, head_dim=6),
    "llama-theta": transformers.LlamaConfig(
        **SIZES, rope_parameters={"rope_type": "default", "rope_theta": 5e5}
    ),
    "mistral": transformers.MistralConfig(**SIZES, sliding_window=None),
    "qwen2": transformers.Qwen2Config(**SIZES),
    "gpt2": transformers.GPT2Config(
        vocab_size=260, n_positions=64, n_embd=32, n_layer=2, n_head=4, n_inner=48, eos_token_id=3
    ),
    "gpt2-untied": transformers.GPT2Config(
        vocab_size=260, n_positions=64, n_embd=32, n_layer=2, n_head=4, tie_word_embeddings=False
    ),
    "mpt": transformers.MptConfig(
        vocab_size=260, max_seq_len=64, d_model=32, n_layers=2, n_heads=4, eos_token_id=3
    ),
}


@pytest.mark.parametrize("name", PEERS)
def test_a_model_of_the_peers_own_making_computes_the_same(tmp_path: Path, name: str) -> None:
    peer = _peer(PEERS[name], tmp_path / "peer")

    loaded = load_model(str(tmp_path / "peer"))

    found = uncached_logits(loaded.weights, TOKEN_IDS)
    assert _largest_difference(_peer_logits(peer), found) <= 1e-4


@pytest.mark.parametrize("name", PEERS)
def test_a_loaded_model_is_saved_with_the_same_logits(tmp_path: Path, name: str) -> None:
    peer = _peer(PEERS[name], tmp_path / "peer")
    loaded = load_model(str(tmp_path / "peer"))

    again = _saved(tmp_path / "again", loaded.weights)

    assert _largest_difference(_peer_logits(peer), _peer_logits(again)) <= 1e-4


def test_the_config_keeps_every_setting_of_the_peer(tmp_path: Path) -> None:
    _peer(PEERS["llama-theta"], tmp_path / "peer")

    assert load_model(str(tmp_path / "peer")).config == ModelConfig(
        name="peer",
        scheme="rope",
        n_layers=2,
        n_heads=4,
        n_kv_heads=2,
        d_head=8,
        d_model=32,
        d_mlp=48,
        vocab_size=260,
        n_ctx=64,
        norm="rms",
        norm_eps=1e-6,
        activation="silu_gated",
        rope_theta=5e5,
        eos_token_id=3,
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_checkpoint_keeps_its_number_type(tmp_path: Path, dtype: torch.dtype) -> None:
    peer = _peer(PEERS["gpt2"], tmp_path / "peer").to(dtype)
    peer.save_pretrained(tmp_path / "peer")

    loaded = load_model(str(tmp_path / "peer"))

    assert {tensor.dtype for tensor in loaded.weights.tensors().values()} == {dtype}
