import torch

theta = 0.1


def rotate(x, position):
    return x * torch.exp(1j * theta * position)


def distances(past, n_new):
    position = torch.arange(past + n_new)
    k = torch.ones(n_new) + 0j
    rotated = rotate(k, position[past:])
    cache = torch.cat((rotate(torch.ones(past), position[:past]), rotated))
    keys = torch.cat((cache[:past], rotated))
    query = rotate(torch.ones(1), position[-1])
    return ((query * keys.conj()).angle() / theta).round().int()


prefill, decode = distances(0, 7), distances(7, 1)
