import torch

torch.manual_seed(0)
wpe = torch.nn.Embedding(16, 4)


def position_ids(tokens, past_len):
    T = tokens.size(1)
    return torch.arange(past_len, past_len + T)


prefill = position_ids(torch.zeros(1, 7), past_len=0)
first = position_ids(torch.zeros(1, 1), past_len=7)
second = position_ids(torch.zeros(1, 1), past_len=8)
same_place = torch.equal(wpe(first), wpe(second))
