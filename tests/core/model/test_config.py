"""What a model's numbers may be."""

import subprocess
import sys
from dataclasses import replace

import pytest

from core.errors import ModelError
from core.model.config import ModelConfig
from core.model.names import model_names, tiny_configs

ROPE = tiny_configs()["tiny-rope"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_layers": 0}, r"^tiny-rope: n_layers is 0; it must be at least 1$"),
        ({"vocab_size": -1}, r"^tiny-rope: vocab_size is -1; it must be at least 1$"),
        ({"n_kv_heads": 3}, r"^tiny-rope: 4 query heads cannot share 3 KV heads; "),
        ({"n_kv_heads": 8}, r"^tiny-rope: 4 query heads cannot share 8 KV heads; "),
        ({"d_head": 7}, r"^tiny-rope: head size 7 cannot be rotated in pairs; it must be even$"),
        ({"rope_theta": 0.0}, r"^tiny-rope: rope_theta is 0.0; it must be above 0$"),
        ({"norm_eps": -1e-5}, r"^tiny-rope: norm_eps is -1e-05; it must be 0 or more$"),
        ({"norm_eps": float("nan")}, r"^tiny-rope: norm_eps is nan; it must be 0 or more$"),
        ({"eos_token_id": 256}, r"end-of-text id 256 is outside the vocabulary of 256 tokens; "),
        ({"eos_token_id": -1}, r"end-of-text id -1 is outside the vocabulary of 256 tokens; "),
    ],
)
def test_an_impossible_size_is_refused_with_its_name_and_number(
    changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        replace(ROPE, **changed)


@pytest.mark.parametrize(("n_kv_heads", "n_rep"), [(1, 4), (2, 2), (4, 1)])
def test_query_heads_are_shared_evenly(n_kv_heads: int, n_rep: int) -> None:
    assert replace(ROPE, n_kv_heads=n_kv_heads).n_rep == n_rep


@pytest.mark.parametrize(
    ("name", "limit"), [("tiny-learned", 256), ("tiny-rope", None), ("tiny-alibi", None)]
)
def test_only_learned_positions_end(name: str, limit: int | None) -> None:
    assert tiny_configs()[name].position_limit == limit


def test_the_tiny_models_are_of_three_families_and_four_layers() -> None:
    found = {(c.scheme, c.n_layers, c.n_heads, c.n_kv_heads) for c in tiny_configs().values()}

    assert found == {("learned", 4, 4, 4), ("rope", 4, 4, 2), ("alibi", 4, 4, 4)}


def test_names_are_listed_with_the_trained_model_first() -> None:
    assert model_names() == ("learned", "tiny-learned", "tiny-rope", "tiny-alibi")


def test_a_config_is_equal_to_its_twin() -> None:
    assert tiny_configs()["tiny-rope"] == ROPE
    assert isinstance(ROPE, ModelConfig)


def test_names_and_configs_need_no_torch() -> None:
    code = (
        "import sys, core.model.names, core.model.checkpoint_config, core.model.tokenizer; "
        "sys.exit('torch' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
