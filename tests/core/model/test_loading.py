"""Models by name and by folder, and one clear line for everything that can be wrong with one."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.errors import ModelError
from core.model.config import ModelConfig
from core.model.loading import load_folder, load_model, save_model
from core.model.names import tiny_configs
from core.model.tokenizer import Tokenizer, byte_tokenizer_json
from core.model.uncached import uncached_logits
from core.model.weights import random_weights

TINY = tiny_configs()
FAMILY = {"gpt2": "tiny-learned", "llama": "tiny-rope", "mpt": "tiny-alibi"}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One whole checkpoint of each family."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for family, name in FAMILY.items():
        save_model(folder / family, random_weights(TINY[name], seed=0), byte_tokenizer_json())
    return folder


@pytest.fixture
def checkpoint(checkpoints: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the checkpoint of a family, to be damaged."""

    def copied(family: str) -> Path:
        return Path(shutil.copytree(checkpoints / family, tmp_path / family))

    return copied


def _refusal(folder: Path) -> str:
    """The line that a folder is refused with."""
    with pytest.raises(ModelError) as caught:
        load_model(str(folder))
    line = str(caught.value)
    assert "\n" not in line
    assert str(folder) in line
    return line


def _change_config(folder: Path, **changed: object) -> None:
    file = folder / "config.json"
    settings = json.loads(file.read_text()) | changed
    file.write_text(json.dumps({key: value for key, value in settings.items() if value != "gone"}))


def _change_tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file)


# By name


@pytest.mark.parametrize("name", TINY)
def test_a_tiny_model_is_made_on_demand_and_comes_from_no_folder(name: str) -> None:
    loaded = load_model(name)

    assert loaded.config == TINY[name]
    assert loaded.weights.config == loaded.config
    assert loaded.weights.dtype == torch.float32
    assert loaded.path is None
    assert loaded.tokenizer.decode(loaded.tokenizer.encode("Tom é")) == "Tom é"


@pytest.mark.parametrize("name", TINY)
def test_greedy_text_of_a_tiny_model_varies(name: str) -> None:
    loaded = load_model(name)
    token_ids = torch.tensor([loaded.tokenizer.encode("Tom")])
    for _ in range(16):
        chosen = uncached_logits(loaded.weights, token_ids)[:, -1:].argmax(-1)
        token_ids = torch.cat((token_ids, chosen), 1)

    assert len(set(token_ids[0, 3:].tolist())) >= 4


@pytest.mark.parametrize(
    "name",
    ["tiny", "", "TINY-ROPE", "/no/such/folder", "~nobody-of-this-name/x", "a\0b", "x" * 5000],
)
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(name)

    assert str(caught.value) == (
        f"model {name!r} is neither a known name nor a folder; "
        "known names: learned, tiny-learned, tiny-rope, tiny-alibi"
    )


def test_a_known_name_wins_over_a_folder_of_that_name(
    checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(checkpoints / "gpt2", tmp_path / "tiny-rope")
    monkeypatch.chdir(tmp_path)

    assert load_model("tiny-rope").config.scheme == "rope"
    assert load_model("./tiny-rope").config.scheme == "learned"


# By folder


@pytest.mark.parametrize("family", FAMILY)
def test_a_folder_gives_back_what_was_saved(checkpoints: Path, family: str) -> None:
    expected = random_weights(TINY[FAMILY[family]], seed=0).tensors()

    loaded = load_model(str(checkpoints / family))

    found = loaded.weights.tensors()
    assert loaded.path == checkpoints / family
    assert loaded.config == replace(TINY[FAMILY[family]], name=family)
    assert found.keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in found.items())


@pytest.mark.parametrize("family", FAMILY)
def test_every_loaded_tensor_is_contiguous_and_the_head_its_own(
    checkpoints: Path, family: str
) -> None:
    weights = load_folder(checkpoints / family).weights

    assert all(tensor.is_contiguous() for tensor in weights.tensors().values())
    assert weights.head.data_ptr() != weights.embedding.data_ptr()


def test_a_loaded_model_outlives_its_file(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("gpt2")
    loaded = load_folder(folder)
    before = loaded.weights.arrays()

    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-4096, 2)
        file.write(b"\xff" * 4096)

    after = loaded.weights.arrays()
    assert all((after[name] == array).all() for name, array in before.items())


@pytest.mark.parametrize(("family", "prefix"), [("gpt2", "transformer."), ("mpt", "transformer.")])
def test_names_without_the_outer_prefix_are_found(
    checkpoint: Callable[[str], Path], family: str, prefix: str
) -> None:
    folder = checkpoint(family)

    def strip(tensors: dict[str, torch.Tensor]) -> None:
        for name in list(tensors):
            tensors[name.removeprefix(prefix)] = tensors.pop(name)

    _change_tensors(folder, strip)

    assert load_folder(folder).config.name == family


def test_masks_that_old_files_carry_are_passed_over(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("gpt2")
    mask = torch.ones(1, 1, 256, 256, dtype=torch.uint8)
    _change_tensors(folder, lambda tensors: tensors.update({"transformer.h.0.attn.bias": mask}))

    assert load_folder(folder).config.n_layers == 4


def test_mixed_number_types_are_widened(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("llama")

    def narrow(tensors: dict[str, torch.Tensor]) -> None:
        for name in tensors:
            kind = torch.bfloat16 if name == "lm_head.weight" else torch.float16
            tensors[name] = tensors[name].to(kind)

    _change_tensors(folder, narrow)

    assert load_folder(folder).weights.dtype == torch.float32


def test_an_end_of_text_id_that_can_never_be_said_is_left_out(
    checkpoint: Callable[[str], Path],
) -> None:
    folder = checkpoint("gpt2")
    _change_config(folder, eos_token_id=50256)

    assert load_folder(folder).tokenizer.eos_token_id is None


def test_the_first_of_several_end_of_text_ids_counts(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("llama")
    _change_config(folder, eos_token_id=[7, 9])

    loaded = load_folder(folder)

    assert (loaded.config.eos_token_id, loaded.tokenizer.eos_token_id) == (7, 7)


def test_a_tokenizer_may_leave_ids_of_the_model_unused(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("llama")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    del vocabulary[max(vocabulary, key=lambda token: vocabulary[token])]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))

    assert load_folder(folder).tokenizer.vocab_size == 255


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "tokenizer.json"], ids=lambda name: name
)
def test_a_missing_file_is_named(checkpoint: Callable[[str], Path], name: str) -> None:
    folder = checkpoint("gpt2")
    (folder / name).unlink()

    assert f"has no {name}" in _refusal(folder)


def test_an_empty_folder_is_no_checkpoint(tmp_path: Path) -> None:
    assert "has no config.json" in _refusal(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1, 2]", b"null", b"\xff\xfe\x00", b"[" * 100_000],
    ids=["empty", "cut", "list", "null", "not-utf-8", "too-deep"],
)
def test_a_broken_json_file_is_named(
    checkpoint: Callable[[str], Path], name: str, content: bytes
) -> None:
    folder = checkpoint("gpt2")
    (folder / name).write_bytes(content)

    assert name in _refusal(folder)


def test_a_file_that_is_a_folder_is_named(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("gpt2")
    (folder / "config.json").unlink()
    (folder / "config.json").mkdir()

    assert "config.json: cannot be read" in _refusal(folder)


@pytest.mark.parametrize("n_bytes", [0, 1, 8, 100, 5000, -1])
def test_truncated_weights_are_refused_with_their_size(
    checkpoint: Callable[[str], Path], n_bytes: int
) -> None:
    file = checkpoint("mpt") / "model.safetensors"
    content = file.read_bytes()[:n_bytes]
    file.write_bytes(content)

    line = _refusal(file.parent)

    assert f"model.safetensors: {len(content)} bytes, cannot be read as safetensors" in line


def test_pickled_weights_are_never_opened(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("gpt2")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")

    assert "holds pytorch_model.bin but no model.safetensors" in _refusal(folder)


FIRST_LAYER = {
    "gpt2": ("transformer.h.0.attn.c_attn.weight", "[32, 96]"),
    "llama": ("model.layers.0.self_attn.k_proj.weight", "[16, 32]"),
    "mpt": ("transformer.blocks.0.attn.Wqkv.weight", "[96, 32]"),
}


@pytest.mark.parametrize("family", FAMILY)
def test_a_missing_tensor_is_named_with_its_shape(
    checkpoint: Callable[[str], Path], family: str
) -> None:
    folder = checkpoint(family)
    name, shape = FIRST_LAYER[family]
    _change_tensors(folder, lambda tensors: tensors.pop(name))

    assert _refusal(folder).endswith(
        f"has no tensor {name} (expected {shape}); config.json asks for it, so give the weights "
        "that belong to it"
    )


@pytest.mark.parametrize("family", FAMILY)
def test_a_tensor_of_another_shape_is_named_with_both(
    checkpoint: Callable[[str], Path], family: str
) -> None:
    folder = checkpoint(family)
    name, shape = FIRST_LAYER[family]
    _change_tensors(folder, lambda tensors: tensors.update({name: torch.zeros(5, 7)}))

    line = _refusal(folder)

    assert line.endswith(f"model.safetensors: {name} is [5, 7], but config.json makes it {shape}")


@pytest.mark.parametrize("family", FAMILY)
def test_every_tensor_is_checked(checkpoint: Callable[[str], Path], family: str) -> None:
    """Each tensor in turn is given one number too many."""
    folder = checkpoint(family)
    whole = load_file(folder / "model.safetensors")
    for name, tensor in whole.items():
        padded = torch.zeros(*tensor.shape[:-1], tensor.shape[-1] + 1)
        save_file(whole | {name: padded}, folder / "model.safetensors")

        assert f"{name} is [" in _refusal(folder)


def test_a_tensor_that_no_such_model_has_is_named(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("llama")
    name = "model.layers.0.self_attn.q_norm.weight"
    _change_tensors(folder, lambda tensors: tensors.update({name: torch.ones(8)}))

    assert f"holds {name}, which a model of this config does not have" in _refusal(folder)


def test_quantised_numbers_are_refused(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("llama")
    name = "model.layers.0.self_attn.o_proj.weight"
    numbers = torch.zeros(32, 32, dtype=torch.int8)
    _change_tensors(folder, lambda tensors: tensors.update({name: numbers}))

    assert f"{name} is stored as I8; only F64, F32, F16, BF16 are read" in _refusal(folder)


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(
    checkpoint: Callable[[str], Path],
) -> None:
    folder = checkpoint("gpt2")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["new"] = 300
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))

    assert "has token ids up to 300, but the model knows 256 tokens" in _refusal(folder)


@pytest.mark.parametrize(
    ("family", "changed", "expected"),
    [
        ("gpt2", {"model_type": "bert"}, "model_type 'bert' is not supported; gpt2, llama, mi"),
        ("gpt2", {"model_type": "gone"}, "has no model_type"),
        ("gpt2", {"n_layer": "gone"}, "has no n_layer"),
        ("gpt2", {"n_embd": "32"}, 'n_embd is "32"; expected a whole number of at least 1'),
        ("gpt2", {"n_embd": 32.5}, "n_embd is 32.5; expected a whole number of at least 1"),
        ("gpt2", {"n_head": True}, "n_head is true; expected a whole number of at least 1"),
        ("gpt2", {"n_head": 0}, "n_head is 0; expected a whole number of at least 1"),
        ("gpt2", {"n_head": 5}, "width 32 cannot be divided among 5 heads"),
        ("gpt2", {"n_layer": 10**12}, "says 1000000000000 layers, but the weights hold only 52"),
        ("gpt2", {"n_layer": 3}, "holds transformer.h.3.attn.c_attn.bias, which"),
        ("gpt2", {"layer_norm_epsilon": "small"}, 'layer_norm_epsilon is "small"; expected a n'),
        ("gpt2", {"layer_norm_epsilon": 10**400}, "expected a finite number"),
        ("gpt2", {"layer_norm_epsilon": float("nan")}, "is NaN; expected a finite number"),
        ("gpt2", {"tie_word_embeddings": 1}, "tie_word_embeddings is 1; expected true or false"),
        ("gpt2", {"tie_word_embeddings": False}, "has no tensor lm_head.weight"),
        ("gpt2", {"activation_function": "relu"}, 'activation_function is "relu", which is not'),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights is false, which is not supp"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "only false is"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention is true, which is not"),
        ("gpt2", {"quantization_config": {"bits": 4}}, "quantised weights are not supported"),
        ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}, 'type is "linear", which'),
        ("llama", {"rope_parameters": {"rope_type": "llama3"}}, 'rope_type is "llama3", which is'),
        ("llama", {"rope_scaling": 2}, "rope_scaling is 2; expected an object"),
        ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5, which is not"),
        ("llama", {"sliding_window": 128}, "sliding_window is 128, which is not supported; only"),
        ("llama", {"mlp_bias": True}, "mlp_bias is true, which is not supported; only false is"),
        ("llama", {"hidden_act": "gelu"}, 'hidden_act is "gelu", which is not supported; only "'),
        ("llama", {"attention_bias": True}, "has no tensor model.layers.0.self_attn.q_proj.bias"),
        ("llama", {"num_key_value_heads": 3}, "4 query heads cannot share 3 KV heads"),
        ("llama", {"head_dim": 7}, "head size 7 cannot be rotated in pairs"),
        ("llama", {"head_dim": 16}, "is [32, 32], but config.json makes it [64, 32]"),
        ("llama", {"model_type": "mistral", "sliding_window": 4096}, "sliding_window is 4096"),
        ("llama", {"model_type": "qwen2", "use_sliding_window": True}, "use_sliding_window is tr"),
        ("mpt", {"attn_config": {"alibi": False}}, "alibi is false, which is not supported"),
        ("mpt", {"attn_config": {"alibi_bias_max": 16}}, "alibi_bias_max is 16, which is not"),
        ("mpt", {"attn_config": {"clip_qkv": 6.0}}, "clip_qkv is 6.0, which is not supported"),
        ("mpt", {"attn_config": {"qk_ln": True}}, "qk_ln is true, which is not supported"),
        ("mpt", {"attn_config": {"softmax_scale": 0.1}}, "softmax_scale is 0.1, which is not"),
        ("mpt", {"attn_config": {"attn_type": "multiquery_attention"}}, "attn_type is "),
        ("mpt", {"no_bias": False}, "no_bias is false, which is not supported"),
        ("mpt", {"logit_scale": 0.5}, "logit_scale is 0.5, which is not supported"),
        ("mpt", {"norm_type": "rmsnorm"}, 'norm_type is "rmsnorm", which is not supported'),
    ],
)
def test_a_config_that_cannot_be_run_is_refused_with_its_setting(
    checkpoint: Callable[[str], Path], family: str, changed: dict[str, object], expected: str
) -> None:
    folder = checkpoint(family)
    _change_config(folder, **changed)

    with pytest.raises(ModelError) as caught:
        load_model(str(folder))

    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


# Shards


@pytest.fixture
def sharded(checkpoint: Callable[[str], Path]) -> Path:
    """A GPT-2 in two shards."""
    folder = checkpoint("gpt2")
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    shards = {"a.safetensors": names[:20], "b.safetensors": names[20:]}
    for shard, held in shards.items():
        save_file({name: tensors[name] for name in held}, folder / shard)
    weight_map = {name: shard for shard, held in shards.items() for name in held}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return folder


def _change_map(folder: Path, change: Callable[[dict[str, object]], object]) -> None:
    file = folder / "model.safetensors.index.json"
    index = json.loads(file.read_text())
    change(index["weight_map"])
    file.write_text(json.dumps(index))


def test_shards_are_put_together(sharded: Path) -> None:
    expected = random_weights(TINY["tiny-learned"], seed=0).tensors()

    found = load_folder(sharded).weights.tensors()

    assert all(torch.equal(tensor, expected[name]) for name, tensor in found.items())


def test_a_missing_shard_is_named(sharded: Path) -> None:
    (sharded / "b.safetensors").unlink()

    assert "b.safetensors: not there, but model.safetensors.index.json names it" in _refusal(
        sharded
    )


def test_a_truncated_shard_is_named(sharded: Path) -> None:
    content = (sharded / "b.safetensors").read_bytes()
    (sharded / "b.safetensors").write_bytes(content[:-9])

    assert "b.safetensors: " in _refusal(sharded)


def test_a_tensor_that_its_shard_lacks_is_named(sharded: Path) -> None:
    _change_map(sharded, lambda shard_of: shard_of.update({"more": "a.safetensors"}))

    assert "a.safetensors: has no more, but model.safetensors.index.json" in _refusal(sharded)


@pytest.mark.parametrize("shard", ["../a.safetensors", "/etc/passwd", 3, None, "", "sub/a"])
def test_a_shard_outside_the_folder_is_never_opened(sharded: Path, shard: object) -> None:
    _change_map(sharded, lambda shard_of: shard_of.update({"transformer.wte.weight": shard}))

    assert f"transformer.wte.weight is said to be in {shard!r}, which is no" in _refusal(sharded)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"weight_map": {}}', "[" * 100_000])
def test_a_broken_index_is_named(sharded: Path, content: str) -> None:
    (sharded / "model.safetensors.index.json").write_text(content)

    assert "model.safetensors.index.json: " in _refusal(sharded)


# Saving


def _impossible(name: str, **changed: object) -> ModelConfig:
    return replace(TINY[name], **changed)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (_impossible("tiny-learned", n_kv_heads=2), "4 heads of 8 over 2 KV heads at width 32"),
        (_impossible("tiny-alibi", d_head=16), "4 heads of 16 over 4 KV heads at width 32"),
        (_impossible("tiny-alibi", d_mlp=64), "inner width 64; alibi models have 4 x 32"),
        (_impossible("tiny-alibi", activation="gelu_tanh"), "no checkpoint layout has alibi"),
        (_impossible("tiny-rope", norm="layer"), "no checkpoint layout has rope positions with"),
        (_impossible("tiny-learned", norm="rms"), "no checkpoint layout has learned positions"),
    ],
)
def test_a_model_without_a_layout_is_refused_before_anything_is_written(
    tmp_path: Path, config: ModelConfig, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        save_model(tmp_path / "model", random_weights(config, seed=0), byte_tokenizer_json())

    assert list(tmp_path.iterdir()) == []


def test_a_tokenizer_that_does_not_fit_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    weights = random_weights(replace(TINY["tiny-rope"], vocab_size=200), seed=0)

    with pytest.raises(ModelError, match="ids up to 255, but the model knows 200 tokens"):
        save_model(tmp_path / "model", weights, byte_tokenizer_json())

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    weights = random_weights(TINY["tiny-rope"], seed=0)

    with pytest.raises(ModelError, match="file/model: cannot be written"):
        save_model(tmp_path / "file" / "model", weights, byte_tokenizer_json())


def test_saving_again_replaces_the_files_and_leaves_nothing_else(
    checkpoints: Path, sharded: Path
) -> None:
    other = random_weights(TINY["tiny-learned"], seed=3)
    (sharded / "notes.md").write_text("mine")

    save_model(sharded, other, byte_tokenizer_json())

    assert torch.equal(load_folder(sharded).weights.embedding, other.embedding)
    written = {file.name for file in (checkpoints / "gpt2").iterdir()}
    assert {file.name for file in sharded.iterdir()} == written | {
        "a.safetensors",
        "b.safetensors",
        "notes.md",
    }
    assert [file.name for file in sharded.parent.iterdir()] == [sharded.name]


def test_a_failure_while_writing_leaves_the_old_model_whole(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checkpoint("gpt2")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.model.saving.save_file", full)
    with pytest.raises(ModelError, match=r"cannot be written .*No space left"):
        save_model(folder, random_weights(TINY["tiny-learned"], seed=3), byte_tokenizer_json())

    assert load_folder(folder).config.name == "gpt2"
    assert [file.name for file in folder.parent.iterdir()] == ["gpt2"]


def test_the_end_of_text_id_is_saved(tmp_path: Path) -> None:
    weights = random_weights(replace(TINY["tiny-rope"], eos_token_id=10), seed=0)

    save_model(tmp_path / "model", weights, byte_tokenizer_json())

    loaded = load_folder(tmp_path / "model")
    assert loaded.config.eos_token_id == 10
    settings = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    assert settings["eos_token"] == Tokenizer(byte_tokenizer_json(), 10).token(10)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_a_model_is_saved_in_its_own_number_type(tmp_path: Path, dtype: torch.dtype) -> None:
    save_model(
        tmp_path / "model",
        random_weights(TINY["tiny-alibi"], seed=0).to(dtype, "cpu"),
        byte_tokenizer_json(),
    )

    assert load_folder(tmp_path / "model").weights.dtype == dtype
