import torch

is_text = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 1, 1], [1] * 10])

prompt_ids = (is_text.cumsum(-1) - 1).clamp(min=0)

is_text = torch.cat((is_text, torch.ones(2, 1).int()), dim=-1)
next_ids = is_text.sum(-1) - 1

short_last, short_next = prompt_ids[0, -1], next_ids[0]
long_last, long_next = prompt_ids[1, -1], next_ids[1]
