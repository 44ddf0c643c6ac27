import torch
from torch.nn.functional import scaled_dot_product_attention

torch.manual_seed(0)
q = torch.randn(1, 4, 1, 32)
k = torch.randn(1, 4, 8, 32)
v = torch.randn(1, 4, 8, 32)
bias = torch.ones(16, 16).tril().view(1, 1, 16, 16)

T, S = q.size(-2), k.size(-2)
row = bias[:, :, :T, :S]
att = q @ k.transpose(-2, -1) / 32**0.5
att = att.masked_fill(row == 0, float("-inf"))

seen = row.flatten()
on_slot_0 = att.softmax(-1)[..., 0].flatten()
out = scaled_dot_product_attention(q, k, v, is_causal=True)
out_is_value_0 = torch.allclose(out, v[:, :, :1])
