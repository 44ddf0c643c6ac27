"""A model of the peer library, called wrongly by what is around it."""

import torch
from peers import llama_sdpa_0_float32  # pyright: ignore[reportAttributeAccessIssue]
from torch import nn


class Wrapped(nn.Module):
    """Numbers tokens from 0, and aligns the mask top-left, in each call."""

    def __init__(self):
        super().__init__()
        self.inner = llama_sdpa_0_float32()

    def forward(self, input_ids, past_key_values=None, use_cache=True):
        n = input_ids.shape[1]
        past = 0 if past_key_values is None else past_key_values.get_seq_length()
        seen = torch.ones(n, past + n, dtype=torch.bool).tril()
        mask = torch.zeros(1, 1, n, past + n).masked_fill(~seen, torch.finfo(torch.float32).min)
        output = self.inner(
            input_ids,
            cache=past_key_values,
            use_cache=use_cache,
            position_ids=torch.arange(n)[None],
            attention_mask=mask,
        )
        return output.logits, output.cache
