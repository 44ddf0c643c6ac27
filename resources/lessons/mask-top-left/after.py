import torch
from torch.nn.functional import scaled_dot_product_attention

torch.manual_seed(0)
q = torch.randn(1, 4, 1, 32)
k = torch.randn(1, 4, 8, 32)
v = torch.randn(1, 4, 8, 32)
bias = torch.ones(16, 16).tril().view(1, 1, 16, 16)

T, S = q.size(-2), k.size(-2)
row = bias[:, :, S - T : S, :S]
att = q @ k.transpose(-2, -1) / 32**0.5
att = att.masked_fill(row == 0, float("-inf"))

seen = row.flatten()
all_below_1 = (att.softmax(-1)[..., 0] < 1).all()
out = scaled_dot_product_attention(q, k, v, row == 1)
out_is_value_0 = torch.allclose(out, v[:, :, :1])
