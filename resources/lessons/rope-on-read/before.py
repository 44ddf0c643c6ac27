import torch

theta = 0.1


def rotate(x, position):
    return x * torch.exp(1j * theta * position)


position = torch.arange(8)
new = rotate(torch.ones(8), position)
cache = new[:7]
query = rotate(torch.ones(1), torch.tensor(7))

past = rotate(cache, position[:7])
keys = torch.cat((past, new[7:]))
distance = ((query * keys.conj()).angle() / theta).round().int()
