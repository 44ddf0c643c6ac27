import torch

N_HEADS, N_KV = 4, 2


def repeat_kv(keys):
    return keys.repeat_interleave(N_HEADS // keys.shape[0], dim=0)


keys = torch.tensor([[0.0], [1.0]])
read_by_head = repeat_kv(keys)[:, 0].tolist()
one_kv_head = repeat_kv(keys[:1])[:, 0].tolist()
own_kv_heads = repeat_kv(torch.arange(4.0)[:, None])[:, 0].tolist()
