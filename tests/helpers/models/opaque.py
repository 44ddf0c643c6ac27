"""Models that are computed in NumPy, so that no call of torch is seen; right ones and wrong ones.

What they give back is a list of (k, v) [B, H, S, D], or (`Sealed`) bytes that tell nothing.
"""

import pickle

import numpy as np
import torch
from torch import nn

WIDTH, HEADS, LAYERS, VOCAB, BLOCK = 32, 4, 2, 61, 40


class Opaque(nn.Module):
    """A right one with learned positions; a fault overrides one method."""

    rope = False

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(5)

        def weights(*shape):
            return rng.normal(0, shape[0] ** -0.5, shape).astype(np.float32)

        self.vocab_size, self.block_size = VOCAB, BLOCK
        self.tokens, self.places = weights(VOCAB, WIDTH) * 8, weights(BLOCK, WIDTH) * 6
        self.layers = [
            [weights(WIDTH, 3 * WIDTH), weights(WIDTH, WIDTH), weights(WIDTH, WIDTH)]
            for _ in range(LAYERS)
        ]
        self.head = weights(WIDTH, VOCAB)

    def positions(self, past, n, cached):
        return np.arange(past, past + n)

    def mask(self, n, total, cached):
        return np.arange(total)[None] <= np.arange(total - n, total)[:, None]

    def join(self, old, new):
        return np.concatenate([old, new], axis=2)

    def forward(self, ids, past_key_values=None):
        cached, state, (B, n) = past_key_values is not None, past_key_values or [], ids.shape
        positions = self.positions(state[0][0].shape[2] if cached else 0, n, cached)
        x, kept = self.tokens[ids.numpy()], []
        if not self.rope:
            x = x + self.places[positions]
        for at, (w_in, w_out, w_up) in enumerate(self.layers):
            parts = np.split(_normed(x) @ w_in, 3, axis=-1)
            q, k, v = (part.reshape(B, n, HEADS, -1).transpose(0, 2, 1, 3) for part in parts)
            if self.rope:
                q, k = _turned(q, positions), _turned(k, positions)
            if cached:
                k, v = (self.join(old, new) for old, new in zip(state[at], (k, v), strict=True))
            kept.append((k, v))
            scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
            scores = np.where(self.mask(n, k.shape[2], cached), scores, -np.inf)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            y = scores / scores.sum(-1, keepdims=True) @ v
            x = x + y.transpose(0, 2, 1, 3).reshape(B, n, WIDTH) @ w_out
            x = x + np.tanh(_normed(x) @ w_up)
        return torch.from_numpy(_normed(x) @ self.head), kept


class Rope(Opaque):
    rope = True


class Restarts(Opaque):
    def positions(self, past, n, cached):
        return np.arange(n)


class RestartsRope(Restarts):
    rope = True


class OneTooFar(Rope):
    def positions(self, past, n, cached):
        return np.arange(past, past + n) + cached


class TopLeft(Opaque):
    def mask(self, n, total, cached):
        return np.arange(total)[None] <= np.arange(n)[:, None]


class Both(TopLeft):
    def positions(self, past, n, cached):
        return np.arange(n)


class NewFirst(Rope):
    def join(self, old, new):
        return np.concatenate([new, old], axis=2)


class Reversed(Opaque):
    """Rows lie newest first; the mask takes them to be in order."""

    def join(self, old, new):
        return np.concatenate([new[:, :, ::-1], old], axis=2)


class OpenMask(Opaque):
    def mask(self, n, total, cached):
        right = super().mask(n, total, cached)
        return np.ones_like(right) if cached else right


class PastLost(Rope):
    def join(self, old, new):
        return np.concatenate([old[:, :, :0], new], axis=2)

    def positions(self, past, n, cached):
        self.n_read = self.n_read + n if cached else n
        return np.arange(self.n_read - n, self.n_read)


class Sealed(nn.Module):
    """Gives back bytes."""

    def __init__(self, opaque):
        super().__init__()
        self.opaque, self.vocab_size, self.block_size = opaque, VOCAB, BLOCK

    def forward(self, ids, past_key_values=None):
        state = None if past_key_values is None else pickle.loads(past_key_values)  # noqa: S301  (its own)
        logits, kept = self.opaque(ids, state)
        return logits, pickle.dumps(kept)


def _normed(x):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def _turned(x, positions):
    half = x.shape[-1] // 2
    angles = positions[:, None] * 100.0 ** (-np.arange(half) / half)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def _sealed(kind):
    return lambda: Sealed(kind())


for _name, _kind in list(globals().items()):
    if isinstance(_kind, type) and issubclass(_kind, Opaque) and _kind.__module__ == __name__:
        globals()[f"Sealed{_name}"] = _sealed(_kind)
