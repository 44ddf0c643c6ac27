import torch


def mask(n_new, n_all, cache):
    return torch.ones(n_new, n_all).tril(n_all - n_new)


cache = []
training = mask(7, 7, None).sum(-1)
prefill = mask(7, 7, cache).sum(-1)
chunk = mask(3, 5, cache).sum(-1)
decode = mask(1, 8, cache).sum(-1)
