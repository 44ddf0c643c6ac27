"""A small GPT whose rules of positions, masks and storing are an object, to be overridden.

Learned positions, or rotations where `rope` is set; where `window` is set, the oldest rows leave.
"""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, VOCAB, BLOCK = 32, 4, 3, 61, 40


class Cache:
    """Of each layer what is kept of k and v [B, H, S, D]; `n` tokens were read."""

    def __init__(self, attached=True):
        self.k, self.v, self.n, self.attached = [None] * LAYERS, [None] * LAYERS, 0, attached
        self.calls, self.starts = [], []


class Rules:
    """The right ones."""

    rope = False
    window = None

    def start(self, cache, T):
        return cache.n

    def positions(self, cache, T):
        first = self.start(cache, T)
        return torch.arange(first, first + T)

    def query_positions(self, ids, cache):
        return ids

    def join(self, old, new, cache, layer):
        """What is read, and what is kept."""
        rows = new if old is None else torch.cat([old, new], dim=2)
        return rows, rows if self.window is None else rows[:, :, -self.window :]

    def used_keys(self, keys, raw, cache, n):
        return keys

    def mask(self, T, S, cache):
        query, key = torch.arange(S - T, S)[:, None], torch.arange(S)[None]
        seen = key <= query
        return seen if self.window is None else seen & (key > query - self.window)

    def attend(self, q, k, v, cache):
        att = (q @ k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        mask = self.mask(q.shape[2], k.shape[2], cache)
        return att.masked_fill(~mask, float("-inf")).softmax(dim=-1) @ v

    def commit(self, cache, layer, T):
        if layer == LAYERS - 1:
            cache.n += T


class Block(nn.Module):
    def __init__(self, layer, rules):
        super().__init__()
        self.layer, self.rules = layer, rules
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x, cache):
        B, T, _ = x.shape
        rules, layer = self.rules, self.layer
        q, k, v = (
            part.view(B, T, HEADS, -1).transpose(1, 2)
            for part in self.qkv(self.norm_1(x)).split(WIDTH, dim=2)
        )
        raw, n = k, cache.n
        if rules.rope:
            ids = rules.positions(cache, T)
            q, k = turn(q, rules.query_positions(ids, cache)), turn(k, ids)
        keys, cache.k[layer] = rules.join(cache.k[layer], k, cache, layer)
        values, cache.v[layer] = rules.join(cache.v[layer], v, cache, layer)
        rules.commit(cache, layer, T)
        y = rules.attend(q, rules.used_keys(keys, raw, cache, n), values, cache)
        x = x + self.out(y.transpose(1, 2).reshape(B, T, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class GPT(nn.Module):
    def __init__(self, rules):
        super().__init__()
        torch.manual_seed(2)
        self.rules, self.n_heads, self.block_size = rules, HEADS, BLOCK
        self.embedding = nn.Embedding(VOCAB, WIDTH)
        self.position_embedding = None if rules.rope else nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.ModuleList([Block(i, rules) for i in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB)

    def make_cache(self):
        return Cache()

    def forward(self, tokens, cache=None):
        cache = Cache(attached=False) if cache is None else cache
        T = tokens.shape[1]
        cache.calls.append(T)
        x = self.embedding(tokens)
        if self.position_embedding is not None:
            ids = self.rules.positions(cache, T)
            x = x + self.position_embedding(ids) if len(ids) else x
        for block in self.blocks:
            x = block(x, cache)
        return self.head(self.norm(x)), cache


def turn(x, positions):
    """Rotate pairs (i, i + D / 2) by position times frequency."""
    half = x.shape[-1] // 2
    angles = positions[:, None].float() * 100.0 ** (-torch.arange(half) / half)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
