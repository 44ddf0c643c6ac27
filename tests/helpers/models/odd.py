"""Models that print, hang, raise, die, hide what they do, or are called in another way."""

import os
import time

import torch
from nano import GPT
from torch import nn


class Odd(GPT):
    """Does something before a call with a past."""

    def forward(self, idx, past_key_values=None):
        if past_key_values is not None:
            self.before(idx)
        return super().forward(idx, past_key_values)

    def before(self, idx):
        pass


class Prints(Odd):
    def before(self, idx):
        print("x" * 10_000)


class Hangs(Odd):
    def before(self, idx):
        time.sleep(3600)


SLOW = {"first": 0.5, "cached": 3.0}
"""Seconds that the first forward of a text takes, and the first cached call."""


class Slow(Odd):
    def forward(self, idx, past_key_values=None):
        if idx.shape[1] > 2:  # not where it is found out how it is called
            time.sleep(SLOW.pop("first", 0.0))
        return super().forward(idx, past_key_values)

    def before(self, idx):
        time.sleep(SLOW.pop("cached", 0.0))


class Raises(Odd):
    def before(self, idx):
        raise IndexError("index 5 is out of range")


class Dies(Odd):
    def before(self, idx):
        os._exit(7)


class OneAtATime(Odd):
    def before(self, idx):
        if idx.shape[1] > 1:
            raise NotImplementedError("one token at a time")


class ZeroHead(GPT):
    def __init__(self):
        super().__init__()
        nn.init.zeros_(self.lm_head.weight)


class NanHead(GPT):
    """Token 7 has no number for a logit."""

    def __init__(self):
        super().__init__()
        self.lm_head.weight.data[7] = float("nan")


class AllNan(GPT):
    def __init__(self):
        super().__init__()
        self.ln_f.weight.data[:] = float("nan")


class LastOnly(nn.Module):
    """Gives the logits of the last token only, and a loss that is None."""

    def __init__(self):
        super().__init__()
        self.gpt = GPT()

    def forward(self, idx, targets=None, past_key_values=None):
        logits, kept = self.gpt(idx, past_key_values)
        return logits[:, [-1], :], None, kept


class NoCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(61, 8)

    def forward(self, idx, targets=None):
        return self.embedding(idx)


class StartPos(nn.Module):
    """Keeps keys and values itself, and is told where the tokens go."""

    def __init__(self, stale=False):
        super().__init__()
        torch.manual_seed(3)
        self.stale, self.max_seq_len = stale, 32
        self.embedding, self.positions = nn.Embedding(61, 16), nn.Embedding(32, 16)
        self.qkv, self.head = nn.Linear(16, 48), nn.Linear(16, 61)
        self.k, self.v = torch.zeros(2, 32, 16), torch.zeros(2, 32, 16)
        self.longest = 0

    def forward(self, tokens, start_pos):
        B, T = tokens.shape
        end = start_pos + T
        x = self.embedding(tokens) + self.positions(torch.arange(start_pos, end))
        q, k, v = self.qkv(x).split(16, dim=-1)
        self.k[:B, start_pos:end], self.v[:B, start_pos:end] = k, v
        self.longest = max(self.longest, end)
        read = self.longest if self.stale else end
        scores = q @ self.k[:B, :read].transpose(-2, -1) / 4
        hidden = torch.ones(T, read, dtype=torch.bool).triu(1 + start_pos)
        if self.stale and T == 1:
            hidden[:] = False
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        return self.head(x + weights @ self.v[:B, :read])


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Sees column 0 to i, whatever came before."""
    scores = q @ k.transpose(-2, -1) / 4
    hidden = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v


class Compiled(nn.Module):
    """Its attention is compiled, so that nothing of it is seen; the mask is aligned top-left."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.attend = [torch.jit.script(_attend)]
        self.embedding, self.positions = nn.Embedding(61, 16), nn.Embedding(32, 16)
        self.qkv, self.head = nn.Linear(16, 48), nn.Linear(16, 61)

    def forward(self, tokens, past=None):
        start = 0 if past is None else past[0].shape[1]
        x = self.embedding(tokens) + self.positions.weight[start:][: tokens.shape[1]]
        q, k, v = self.qkv(x).split(16, dim=-1)
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        return self.head(x + self.attend[0](q, k, v)), (k, v)


class Batch(GPT):
    """The second text of a batch reads the keys of the first."""

    def forward(self, idx, past_key_values=None):
        if past_key_values is not None and len(idx) > 1:
            past_key_values = [(k[:1].expand_as(k), v) for k, v in past_key_values]
        return super().forward(idx, past_key_values)


class Random(GPT):
    """Adds noise to its logits."""

    def forward(self, idx, past_key_values=None):
        logits, kept = super().forward(idx, past_key_values)
        return logits + torch.rand_like(logits), kept


class NotCausal(GPT):
    """Takes the mean of the whole text off, and so looks ahead."""

    def forward(self, idx, past_key_values=None):
        logits, kept = super().forward(idx, past_key_values)
        return logits - logits.mean(1, keepdim=True), kept


class Deaf(GPT):
    """Attention adds next to nothing."""

    def __init__(self):
        super().__init__()
        for name, parameter in self.named_parameters():
            if "c_proj" in name:
                nn.init.zeros_(parameter)


def stale():
    return StartPos(stale=True)


def number():
    return 7
