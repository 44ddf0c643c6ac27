import torch

frequency = 10000.0 ** (-torch.arange(0, 8, 2) / 8)
memo = {}


def angles(offset, n):
    key = n
    if key not in memo:
        position = torch.arange(offset, offset + n)
        memo[key] = torch.outer(position, frequency)
    return memo[key]


prefill = angles(0, 7)[:, 0]
decoded = [angles(7 + step, 1)[0, 0].item() for step in range(3)]
memo.clear()
prompt_of_one = [angles(step, 1)[0, 0].item() for step in range(3)]
