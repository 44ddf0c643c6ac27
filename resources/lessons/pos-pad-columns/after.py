import torch

is_text = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 1, 1], [1] * 10])
prompt_ids = (is_text.cumsum(-1) - 1).clamp(min=0)

is_text = torch.cat((is_text, torch.ones(2, 1).int()), dim=-1)
next_ids = is_text.sum(-1) - 1

short_ids, short_next = prompt_ids[0, 3:], next_ids[0]
long_ids, long_next = prompt_ids[1], next_ids[1]
distance = short_next - short_ids[-1]
