import torch

torch.manual_seed(0)
wte = torch.nn.Embedding(16, 4)
wpe = torch.nn.Embedding(16, 4)


def embed(tokens, past_len):
    x = wte(tokens)
    T = tokens.size(1)
    if T > 1:
        x = x + wpe(torch.arange(past_len, past_len + T))
    return x


token = torch.tensor([[3]])
here, there = embed(token, 7), embed(token, 8)
same = torch.equal(here, there)
bare = torch.equal(here, wte(token))
