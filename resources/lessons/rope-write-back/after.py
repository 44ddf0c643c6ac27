import torch

theta = 0.1


def rotate(x, position):
    return x * torch.exp(1j * theta * position)


position = torch.arange(5)
cache = rotate(torch.ones(5), position)
angles = []
for _ in range(3):
    past = cache
    angles.append((past.angle() / theta).round().int().tolist())
