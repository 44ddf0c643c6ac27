import torch


def weights_of_last(n_pad, n_text):
    S = n_pad + n_text
    is_text = torch.arange(S) >= n_pad
    mask = torch.ones(S, S).tril()[-1].bool()
    scores = torch.zeros(S).masked_fill(~mask, float("-inf"))
    return scores.softmax(-1), is_text


def on_pads(n_pad):
    weights, is_text = weights_of_last(n_pad, n_text=7)
    return round(weights[~is_text].sum().item(), 3)


alone, beside_10, beside_20 = on_pads(0), on_pads(3), on_pads(13)
