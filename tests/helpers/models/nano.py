"""A small GPT with learned positions that keeps keys and values as a list of (k, v)."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, n_heads, block_size, top_left):
        super().__init__()
        self.n_heads, self.top_left = n_heads, top_left
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        bias = torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size)
        self.bias: torch.Tensor
        self.register_buffer("bias", bias)

    def forward(self, x, past):
        B, T, C = x.shape
        q, k, v = (
            part.view(B, T, self.n_heads, C // self.n_heads).transpose(1, 2)
            for part in self.c_attn(x).split(C, dim=2)
        )
        if past is not None:
            k = torch.cat([past[0], k], dim=2)
            v = torch.cat([past[1], v], dim=2)
        S = k.size(2)
        mask = self.bias[:, :, :T, :S] if self.top_left else self.bias[:, :, S - T : S, :S]
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(mask == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C)), (k, v)


class Block(nn.Module):
    def __init__(self, width, n_heads, block_size, top_left):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, n_heads, block_size, top_left)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x, past):
        y, kept = self.attn(self.ln_1(x), past)
        x = x + y
        return x + self.mlp(self.ln_2(x)), kept


class GPT(nn.Module):
    def __init__(self, restarts=False, top_left=False, n_layers=2, width=32, n_heads=4):
        super().__init__()
        torch.manual_seed(1)
        self.restarts, self.block_size = restarts, 32
        self.wte, self.wpe = nn.Embedding(61, width), nn.Embedding(self.block_size, width)
        blocks = [Block(width, n_heads, self.block_size, top_left) for _ in range(n_layers)]
        self.h = nn.ModuleList(blocks)
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, 61, bias=False)

    def forward(self, idx, past_key_values=None):
        T = idx.size(1)
        past = 0 if past_key_values is None else past_key_values[0][0].size(2)
        start = 0 if self.restarts else past
        x = self.wte(idx) + self.wpe(torch.arange(start, start + T))
        kept = []
        for i, block in enumerate(self.h):
            x, pair = block(x, None if past_key_values is None else past_key_values[i])
            kept.append(pair)
        return self.lm_head(self.ln_f(x)), kept


def right():
    return GPT()


def pos_restart():
    return GPT(restarts=True)


def mask_top_left():
    return GPT(top_left=True)


def both():
    return GPT(restarts=True, top_left=True)
