"""Position schemes against tables made by hand."""

import math

import numpy as np
import pytest
import torch

from core.errors import ModelError
from core.model.names import tiny_configs
from core.model.positions import Alibi, Learned, Rope, alibi_slopes, positions_of
from core.model.weights import random_weights

ROWS = torch.tensor([[0.0, 1.0], [10.0, 11.0], [20.0, 21.0], [30.0, 31.0]])


def _rope(dtype: torch.dtype = torch.float64, d_head: int = 4) -> Rope:
    return Rope(d_head, 100.0, dtype, "cpu")


# Learned


@pytest.mark.parametrize("position_ids", [[2, 0, 3], np.array([2, 0, 3])], ids=["list", "array"])
def test_learned_positions_add_the_row_of_each_id(position_ids: list[int]) -> None:
    x = torch.ones(3, 2)

    found = Learned("model", ROWS).embed(x, position_ids)

    assert found.tolist() == [[21.0, 22.0], [1.0, 2.0], [31.0, 32.0]]


def test_learned_positions_add_one_row_to_one_token() -> None:
    found = Learned("model", ROWS).embed(torch.ones(1, 2), np.array([3]))

    assert found.tolist() == [[31.0, 32.0]]


@pytest.mark.parametrize("position_ids", [[4], [-1], [0, 4], [0, -1]])
def test_a_position_outside_the_table_is_refused_by_name_and_number(
    position_ids: list[int],
) -> None:
    outside = position_ids[-1]

    with pytest.raises(ModelError, match=rf"model has no position {outside}: .* ends at 3"):
        Learned("model", ROWS).embed(torch.ones(len(position_ids), 2), position_ids)


def test_learned_positions_leave_queries_and_scores_alone() -> None:
    x = torch.ones(1, 1, 2)
    positions = Learned("model", ROWS)

    assert positions.rotate(x, [1]) is x
    assert positions.bias([1], [0, 1]) is None


# Rotary


def test_rotary_positions_turn_pairs_half_a_head_apart() -> None:
    """Head size 4 and theta 100: the pairs (0, 2) and (1, 3) turn by p and p / 10."""
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]], dtype=torch.float64)
    p = 7

    found = _rope().rotate(x, [p])

    slow, fast = p / 10, p
    expected = [
        1 * math.cos(fast) - 3 * math.sin(fast),
        2 * math.cos(slow) - 4 * math.sin(slow),
        3 * math.cos(fast) + 1 * math.sin(fast),
        4 * math.cos(slow) + 2 * math.sin(slow),
    ]
    assert found[0, 0].tolist() == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    "position_ids",
    [[0, 1, 2], [5, 5, 2], [511, 512, 1025], [-3, 0, 4], [2, 65_535, 65_536], [10**9, 0, 1]],
    ids=str,
)
def test_several_tokens_turn_as_each_alone(position_ids: list[int]) -> None:
    rope = _rope()
    x = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    together = rope.rotate(x, np.array(position_ids))

    alone = [rope.rotate(x[:, t : t + 1], [p]) for t, p in enumerate(position_ids)]
    assert torch.allclose(together, torch.cat(alone, 1), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("position", [511, 512, 65_535, 65_536, -3])
def test_a_far_position_turns_by_its_own_angle(position: int) -> None:
    x = torch.tensor([[[1.0, 0.0, 0.0, 0.0]]], dtype=torch.float64)

    found = _rope().rotate(x, [position])[0, 0]

    assert found[0].item() == pytest.approx(math.cos(position), abs=1e-10)
    assert found[2].item() == pytest.approx(math.sin(position), abs=1e-10)


def test_scores_of_turned_rows_depend_on_the_distance_alone() -> None:
    generator = torch.Generator().manual_seed(1)
    q, k = torch.randn(2, 1, 1, 4, dtype=torch.float64, generator=generator)
    rope = _rope()

    near = (rope.rotate(q, [9]) * rope.rotate(k, [4])).sum()
    far = (rope.rotate(q, [105]) * rope.rotate(k, [100])).sum()

    assert near.item() == pytest.approx(far.item(), abs=1e-12)


def test_angles_are_those_of_float32_outside_float64() -> None:
    """Position 30,011 at a tenth per token: 3001.1 lies between two float32 numbers."""
    x = torch.tensor([[[0.0, 1.0, 0.0, 0.0]]])

    found = _rope(torch.float32).rotate(x, [30_011])[0, 0]

    angle = torch.tensor(30_011.0) * torch.tensor(0.1)
    assert found.tolist() == [0.0, angle.cos().item(), 0.0, angle.sin().item()]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_types_round_the_float32_cosine(dtype: torch.dtype) -> None:
    x = torch.tensor([[[1.0, 0.0]]], dtype=dtype)

    found = _rope(dtype, d_head=2).rotate(x, [300])[0, 0]

    angle = torch.tensor(300.0)
    assert found.tolist() == [angle.cos().to(dtype).item(), angle.sin().to(dtype).item()]


def test_rotary_positions_leave_embeddings_and_scores_alone() -> None:
    x = torch.ones(1, 4)

    assert _rope().embed(x, [1]) is x
    assert _rope().bias([1], [0, 1]) is None


# ALiBi


@pytest.mark.parametrize(
    ("n_heads", "exponents"),
    [
        (1, [8]),
        (4, [2, 4, 6, 8]),
        (8, [1, 2, 3, 4, 5, 6, 7, 8]),
        (3, [4, 8, 2]),
        (6, [2, 4, 6, 8, 1, 3]),
        (12, [1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5]),
    ],
)
def test_slopes_are_those_of_mpt(n_heads: int, exponents: list[float]) -> None:
    assert alibi_slopes(n_heads) == pytest.approx([2.0**-e for e in exponents])


def test_the_penalty_is_slope_times_distance() -> None:
    found = Alibi(2, torch.float32, "cpu").bias([3, 4], [0, 2, 4])

    one_of_sixteen = [[-3 / 16, -1 / 16, 1 / 16], [-4 / 16, -2 / 16, 0.0]]
    one_of_256 = [[value / 16 for value in row] for row in one_of_sixteen]
    assert found.tolist() == [one_of_sixteen, one_of_256]


def test_the_penalty_takes_a_place_per_query_and_key() -> None:
    as_seen = np.array([[0, 1], [3, 3]])

    found = Alibi(1, torch.float64, "cpu").bias(np.array([1, 3]), as_seen)

    assert found.tolist() == [[[-1 / 256, 0.0], [0.0, 0.0]]]


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_the_penalty_is_never_narrower_than_float32(dtype: torch.dtype, wide: torch.dtype) -> None:
    """Slopes too: one of twelve heads has 2^-0.5."""
    found = Alibi(12, dtype, "cpu").bias([1], [0, 1])

    assert found.dtype == wide
    assert found[8, 0, 0].item() == pytest.approx(-(2.0**-0.5), rel=1e-6)


def test_alibi_leaves_embeddings_and_queries_alone() -> None:
    x = torch.ones(1, 1, 4)
    positions = Alibi(4, torch.float32, "cpu")

    assert positions.embed(x, [1]) is x
    assert positions.rotate(x, [1]) is x


# All


@pytest.mark.parametrize(
    ("name", "kind"), [("tiny-learned", Learned), ("tiny-rope", Rope), ("tiny-alibi", Alibi)]
)
def test_a_model_gets_the_positions_of_its_family(name: str, kind: type) -> None:
    positions = positions_of(random_weights(tiny_configs()[name], seed=0))

    assert isinstance(positions, kind)


@pytest.mark.parametrize("name", tiny_configs())
@pytest.mark.parametrize("n_tokens", [1, 3])
def test_read_only_position_ids_are_taken_without_a_warning(name: str, n_tokens: int) -> None:
    positions = positions_of(random_weights(tiny_configs()[name], seed=0))
    position_ids = np.arange(n_tokens)
    position_ids.setflags(write=False)

    assert positions.embed(torch.ones(n_tokens, 32), position_ids).shape == (n_tokens, 32)
    assert positions.rotate(torch.ones(4, n_tokens, 8), position_ids).shape == (4, n_tokens, 8)
    bias = positions.bias(position_ids, position_ids)
    assert bias is None or bias.shape == (4, n_tokens, n_tokens)
