import torch

torch.manual_seed(0)
q = torch.randn(1, 4, 1, 32)
k = torch.randn(1, 4, 8, 32)
v = torch.randn(1, 4, 8, 32)

T, S = q.size(-2), k.size(-2)
square = torch.ones(T, T).tril()
mask = torch.cat((torch.zeros(T, S - T), square), dim=-1)
att = q @ k.transpose(-2, -1) / 32**0.5
att = att.masked_fill(mask == 0, float("-inf")).softmax(-1)

seen = mask.flatten()
all_on_newest = (att[..., -1] == 1).all()
out_is_own_value = torch.allclose(att @ v, v[:, :, -1:])
