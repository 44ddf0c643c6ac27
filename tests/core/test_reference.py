import math
from itertools import product

import numpy as np
import pytest

from core import reference_blocks
from core.errors import ModelError
from core.model.config import ModelConfig
from core.reference import LooseRows, Passage, Reference
from core.reference_math import erf

SCHEMES = ("learned", "rope", "alibi")
N_HEADS = {"learned": 3, "rope": 4, "alibi": 6}
N_KV_HEADS = {"learned": 3, "rope": 2, "alibi": 6}


def small_config(scheme, d_head=4, n_layers=3):
    return ModelConfig(
        name=f"small-{scheme}",
        scheme=scheme,
        n_layers=n_layers,
        n_heads=N_HEADS[scheme],
        n_kv_heads=N_KV_HEADS[scheme],
        d_head=d_head,
        d_model=N_HEADS[scheme] * d_head,
        d_mlp=4 * N_HEADS[scheme] * d_head,
        vocab_size=23,
        n_ctx=160,
        norm="rms" if scheme == "rope" else "layer",
        norm_eps=1e-5,
        activation={"learned": "gelu_tanh", "rope": "silu_gated", "alibi": "gelu"}[scheme],
        rope_theta=100.0,
        eos_token_id=None,
    )


def random_arrays(config, seed):
    """Weights of the family's kind, large enough that attention is far from uniform."""
    rng = np.random.default_rng(seed)
    width, inner = config.d_model, config.n_heads * config.d_head
    qkv = inner + 2 * config.n_kv_heads * config.d_head
    matrices = {
        "qkv_weight": (width, qkv),
        "out_weight": (inner, width),
        "up_weight": (width, config.d_mlp),
        "down_weight": (config.d_mlp, width),
    }
    if config.activation == "silu_gated":
        matrices["gate_weight"] = (width, config.d_mlp)
    biases = {"qkv_bias": qkv, "out_bias": width, "up_bias": config.d_mlp, "down_bias": width}
    arrays = {
        "embedding": rng.normal(size=(config.vocab_size, width)),
        "final_norm_weight": 1 + 0.2 * rng.normal(size=width),
        "head": rng.normal(size=(width, config.vocab_size)),
    }
    if config.scheme == "learned":
        arrays["position_embedding"] = rng.normal(size=(config.n_ctx, width))
        arrays["final_norm_bias"] = rng.normal(size=width)
    for layer in range(config.n_layers):
        mine = {name: 2 * rng.normal(size=s) / math.sqrt(s[0]) for name, s in matrices.items()}
        for norm in ("attn_norm", "mlp_norm"):
            mine[f"{norm}_weight"] = 1 + 0.2 * rng.normal(size=width)
            if config.scheme == "learned":
                mine[f"{norm}_bias"] = rng.normal(size=width)
        if config.scheme == "learned":
            mine |= {name: rng.normal(size=size) for name, size in biases.items()}
        arrays |= {f"layers.{layer}.{name}": array for name, array in mine.items()}
    return arrays


# A second implementation, one number at a time where the first one is clever.


def slow_turn(vector, position, theta):
    half = len(vector) // 2
    turned = (vector[:half] + 1j * vector[half:]) * np.array(
        [np.exp(1j * position * theta ** (-i / half)) for i in range(half)]
    )
    return np.concatenate([turned.real, turned.imag])


def slow_slopes(n_heads):
    if math.log2(n_heads).is_integer():
        return [2 ** (-8 * (head + 1) / n_heads) for head in range(n_heads)]
    above = slow_slopes(2 ** (n_heads.bit_length()))
    return (above[1::2] + above[::2])[:n_heads]


def slow_norm(config, row, weight, bias):
    if config.norm == "layer":
        row = row - row.mean()
    row = row / math.sqrt((row**2).mean() + config.norm_eps) * weight
    return row if bias is None else row + bias


def slow_activation(config, x):
    if config.activation == "gelu":
        return np.array([v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x])
    if config.activation == "gelu_tanh":
        inner = [math.sqrt(2 / math.pi) * (v + 0.044715 * v**3) for v in x]
        return np.array([0.5 * v * (1 + math.tanh(i)) for v, i in zip(x, inner, strict=True)])
    return np.array([v / (1 + math.exp(-v)) for v in x])


def slow_attention(config, passage, layer, q, k, v):
    """Rows of (scores, weights, context) per (query, head); k and v are [N, Hkv, D]."""
    n = len(passage.token_ids)
    scores = np.zeros((config.n_heads, n, n))
    weights = np.zeros((config.n_heads, n, n))
    context = np.zeros((n, config.n_heads, config.d_head))
    is_rope = config.scheme == "rope"
    slopes = slow_slopes(config.n_heads) if config.scheme == "alibi" else [0] * config.n_heads
    for i, head in product(range(n), range(config.n_heads)):
        kv_head = head // (config.n_heads // config.n_kv_heads)
        at = passage.position_ids[i]
        query = slow_turn(q[i, head], at, config.rope_theta) if is_rope else q[i, head]
        for j in range(n):
            key_at = passage.position_ids[j]
            if passage.key_position_ids is not None:
                key_at = passage.key_position_ids[i, j]
            key = k[j, kv_head]
            key = slow_turn(key, key_at, config.rope_theta) if is_rope else key
            scores[head, i, j] = query @ key / math.sqrt(config.d_head) - slopes[head] * (
                at - key_at
            )
        seen = [(scores[head, i, j], v[j, kv_head], j) for j in range(n) if passage.readable[i, j]]
        for rows in passage.loose:
            if i >= rows.first_reader:
                for r in range(rows.keys.shape[2]):
                    score = query @ rows.keys[layer, kv_head, r] / math.sqrt(config.d_head)
                    seen.append((score, rows.values[layer, kv_head, r], None))
        largest = max((score for score, _, _ in seen), default=0)
        total = sum(math.exp(score - largest) for score, _, _ in seen)
        for score, value, j in seen:
            weight = math.exp(score - largest) / total
            context[i, head] += weight * value
            if j is not None:
                weights[head, i, j] = weight
    return scores, weights, context


def slow_forward(config, arrays, passage):
    """Logits, and of each layer: unrotated keys, values, scores, weights, output, residual."""
    n, size = len(passage.token_ids), config.d_head
    x = arrays["embedding"][passage.token_ids]
    if config.scheme == "learned":
        x = x + arrays["position_embedding"][passage.position_ids]
    layers = []
    for number in range(config.n_layers):

        def get(name, number=number):
            return arrays.get(f"layers.{number}.{name}")

        def linear(row, name, get=get):
            bias = get(f"{name}_bias")
            return row @ get(f"{name}_weight") + (0 if bias is None else bias)

        q = np.empty((n, config.n_heads, size))
        k = np.empty((n, config.n_kv_heads, size))
        v = np.empty((n, config.n_kv_heads, size))
        for i in range(n):
            normed = slow_norm(config, x[i], get("attn_norm_weight"), get("attn_norm_bias"))
            heads = linear(normed, "qkv").reshape(-1, size)
            q[i], k[i] = heads[: config.n_heads], heads[config.n_heads : -config.n_kv_heads]
            v[i] = heads[-config.n_kv_heads :]
        scores, weights, context = slow_attention(config, passage, number, q, k, v)
        output = np.array([linear(context[i].reshape(-1), "out") for i in range(n)])
        x = x + output
        mlp = []
        for i in range(n):
            normed = slow_norm(config, x[i], get("mlp_norm_weight"), get("mlp_norm_bias"))
            if config.activation == "silu_gated":
                inner = slow_activation(config, normed @ get("gate_weight")) * linear(normed, "up")
            else:
                inner = slow_activation(config, linear(normed, "up"))
            mlp.append(linear(inner, "down"))
        x = x + np.array(mlp)
        layers.append((k, v, scores, weights, output, x))
    final = [
        slow_norm(config, row, arrays["final_norm_weight"], arrays.get("final_norm_bias"))
        for row in x
    ]
    return np.array(final) @ arrays["head"], layers


def ids(config, n, seed=5):
    return np.random.default_rng(seed).integers(0, config.vocab_size, n)


def causal(config, n=9):
    return Passage(ids(config, n), np.arange(n), None, np.tri(n, dtype=bool))


def shifted(config, n=9):
    return Passage(ids(config, n), np.arange(n) + 30, None, np.tri(n, dtype=bool))


def restarted(config, n=9):
    """Positions that are no order at all, as a fault may give them."""
    return Passage(ids(config, n), np.arange(n) * 5 % 4, None, np.tri(n, dtype=bool))


def sinks_readable(n, sinks, window):
    return np.array(
        [[j <= i and (j < sinks or j > i - (window - sinks)) for j in range(n)] for i in range(n)]
    )


def banded(config, n=9):
    return Passage(ids(config, n), np.arange(n), None, sinks_readable(n, 0, 4))


def sinks(config, n=9):
    return Passage(ids(config, n), np.arange(n), None, sinks_readable(n, 2, 5))


def reassigned(config, n=9):
    """Sinks and window; each query gives each key its rank among those that it reads."""
    readable = sinks_readable(n, 2, 5)
    key_position_ids = np.where(readable, readable.cumsum(axis=1) - 1, 0)
    return Passage(ids(config, n), key_position_ids.diagonal().copy(), key_position_ids, readable)


def any_matrix(config, n=9):
    """Positions and readable sets without any structure."""
    rng = np.random.default_rng(8)
    return Passage(
        ids(config, n), np.arange(n), rng.integers(0, 50, (n, n)), rng.random((n, n)) < 0.5
    )


def neither_causal_nor_full(config, n=9):
    readable = np.random.default_rng(3).random((n, n)) < 0.4
    readable[4] = False
    return Passage(ids(config, n), np.arange(n), None, readable)


def unread_middle(config, n=9):
    readable = np.tri(n, dtype=bool)
    readable[:, 3:6] = False
    return Passage(ids(config, n), np.arange(n), None, readable)


def with_loose_rows(config, n=9):
    rng = np.random.default_rng(11)

    def rows(count, first_reader):
        shape = (config.n_layers, config.n_kv_heads, count, config.d_head)
        return LooseRows(rng.normal(size=shape), rng.normal(size=shape), first_reader)

    plain = causal(config, n)
    return Passage(
        plain.token_ids, plain.position_ids, None, plain.readable, (rows(2, 3), rows(1, 7))
    )


def loose_rows_and_ranks(config, n=9):
    ranked, loose = reassigned(config, n), with_loose_rows(config, n).loose
    return Passage(
        ranked.token_ids, ranked.position_ids, ranked.key_position_ids, ranked.readable, loose
    )


KINDS = (
    causal,
    shifted,
    restarted,
    banded,
    sinks,
    reassigned,
    any_matrix,
    neither_causal_nor_full,
    unread_middle,
    with_loose_rows,
    loose_rows_and_ranks,
)
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@every_scheme
@every_kind
def test_logits_equal_a_naive_loop_over_queries_and_keys(scheme, kind):
    config = small_config(scheme)
    arrays, passage = random_arrays(config, 1), kind(config)
    expected, _ = slow_forward(config, arrays, passage)
    assert expected.std() > 2
    np.testing.assert_allclose(
        Reference(config, arrays).forward(passage).logits, expected, atol=1e-11, rtol=0
    )


@every_scheme
@every_kind
def test_the_detail_of_each_layer_equals_the_naive_loop(scheme, kind):
    config = small_config(scheme)
    arrays, passage = random_arrays(config, 2), kind(config)
    logits, layers = slow_forward(config, arrays, passage)
    run = Reference(config, arrays).forward(passage, first_row=4, detail=True)
    np.testing.assert_allclose(run.logits, logits[4:], atol=1e-11, rtol=0)
    for found, (_, _, scores, weights, output, residual) in zip(run.layers, layers, strict=True):
        np.testing.assert_allclose(found.scores, scores[:, 4:], atol=1e-11, rtol=0)
        np.testing.assert_allclose(found.weights, weights[:, 4:], atol=1e-12, rtol=0)
        np.testing.assert_allclose(found.output, output[4:], atol=1e-11, rtol=0)
        np.testing.assert_allclose(found.residual, residual[4:], atol=1e-11, rtol=0)


@every_scheme
@every_kind
def test_scores_are_the_products_of_the_queries_and_keys_said_to_be_used(scheme, kind):
    config = small_config(scheme)
    passage = kind(config)
    run = Reference(config, random_arrays(config, 3)).forward(passage, first_row=2, detail=True)
    for layer in run.layers:
        for head, t in product(range(config.n_heads), range(7)):
            keys = layer.used_keys[head // config.n_rep]
            found = (keys if keys.ndim == 2 else keys[t]) @ layer.queries[head, t]
            expected = layer.scores[head, t] * math.sqrt(config.d_head)
            if scheme == "alibi":
                at, key_at = passage.position_ids[2 + t], passage.position_ids
                if passage.key_position_ids is not None:
                    key_at = passage.key_position_ids[2 + t]
                slope = slow_slopes(config.n_heads)[head]
                expected = expected + math.sqrt(config.d_head) * slope * (at - key_at)
            np.testing.assert_allclose(found, expected, atol=1e-11, rtol=0)


@every_scheme
@pytest.mark.parametrize("first_row", [0, 5])
def test_stored_keys_are_rotated_at_their_own_positions(scheme, first_row):
    config = small_config(scheme)
    arrays, passage = random_arrays(config, 4), shifted(config)
    run = Reference(config, arrays).forward(passage, first_row=first_row)
    _, layers = slow_forward(config, arrays, passage)
    for number, (keys, values, *_) in enumerate(layers):
        for i, head in product(range(9), range(config.n_kv_heads)):
            expected = keys[i, head]
            if scheme == "rope":
                expected = slow_turn(expected, 30 + i, config.rope_theta)
            np.testing.assert_allclose(run.stored_keys[number][head, i], expected, atol=1e-11)
            np.testing.assert_allclose(run.values[number][head, i], values[i, head], atol=1e-11)


def test_stored_keys_are_not_rotated_where_positions_are_reassigned():
    config = small_config("rope")
    arrays, passage = random_arrays(config, 4), reassigned(config)
    run = Reference(config, arrays).forward(passage)
    _, layers = slow_forward(config, arrays, passage)
    for found, (keys, *_) in zip(run.stored_keys, layers, strict=True):
        np.testing.assert_allclose(found, keys.swapaxes(0, 1), atol=1e-11, rtol=0)


@every_scheme
@every_kind
def test_blocks_of_rows_give_what_one_block_gives(scheme, kind, monkeypatch):
    config = small_config(scheme)
    reference, passage = Reference(config, random_arrays(config, 5)), kind(config)
    whole = reference.forward(passage, first_row=2).logits
    monkeypatch.setattr(reference_blocks, "ROWS_PER_BLOCK", 3)
    in_blocks = reference.forward(passage, first_row=2).logits
    np.testing.assert_allclose(in_blocks, whole, atol=1e-12, rtol=0)


@every_scheme
def test_a_long_passage_equals_the_forward_of_each_of_its_beginnings(scheme):
    config = small_config(scheme)
    reference = Reference(config, random_arrays(config, 6))
    whole = reference.forward(causal(config, 150)).logits
    for n in (1, 63, 64, 65, 129):
        beginning = reference.forward(causal(config, n), first_row=n - 1).logits
        np.testing.assert_allclose(beginning[0], whole[n - 1], atol=1e-11, rtol=0)


@every_scheme
@pytest.mark.parametrize("detail", [False, True])
def test_a_query_that_reads_nothing_gets_the_bias_of_the_projection_alone(scheme, detail):
    config = small_config(scheme, n_layers=1)
    arrays, passage = random_arrays(config, 7), neither_causal_nor_full(config)
    run = Reference(config, arrays).forward(passage, first_row=4, detail=True)
    expected = arrays.get("layers.0.out_bias", np.zeros(config.d_model))
    np.testing.assert_array_equal(run.layers[0].output[0], expected)
    assert not run.layers[0].weights[:, 0].any()
    assert np.isfinite(Reference(config, arrays).forward(passage, detail=detail).logits).all()


def test_a_passage_in_which_nothing_is_readable_has_finite_logits():
    config = small_config("rope")
    passage = Passage(ids(config, 4), np.arange(4), None, np.zeros((4, 4), dtype=bool))
    arrays = random_arrays(config, 7)
    expected, _ = slow_forward(config, arrays, passage)
    np.testing.assert_allclose(Reference(config, arrays).forward(passage).logits, expected)


@every_scheme
def test_what_is_not_readable_has_no_influence(scheme):
    config = small_config(scheme)
    reference, passage = Reference(config, random_arrays(config, 8)), unread_middle(config)
    other_ids = passage.token_ids.copy()
    other_ids[3:6] = (other_ids[3:6] + 1) % config.vocab_size
    other = Passage(other_ids, passage.position_ids, None, passage.readable)
    np.testing.assert_array_equal(
        reference.forward(passage, first_row=6).logits, reference.forward(other, first_row=6).logits
    )


@pytest.mark.parametrize("position_id", [-1, 160])
def test_a_position_outside_the_table_is_an_error_that_names_it(position_id):
    config = small_config("learned")
    passage = Passage(ids(config, 1), np.array([position_id]), None, np.ones((1, 1), dtype=bool))
    with pytest.raises(ModelError, match=f"position id {position_id} .* 0 to 159"):
        Reference(config, random_arrays(config, 9)).forward(passage)


def test_erf_equals_the_mathematical_library():
    x = np.concatenate(
        [np.linspace(-7, 7, 20011), np.linspace(-1e-3, 1e-3, 101), [1e-300, -1e300, np.inf]]
    )
    expected = np.array([math.erf(v) for v in x.tolist()])
    np.testing.assert_allclose(erf(x), expected, atol=3e-16, rtol=0)


def test_a_weight_that_is_not_a_number_shows_in_the_logits_and_warns_of_nothing():
    config = small_config("alibi")
    arrays = random_arrays(config, 10)
    arrays["layers.1.up_weight"][0, 0] = np.nan
    assert np.isnan(Reference(config, arrays).forward(causal(config)).logits).all()
