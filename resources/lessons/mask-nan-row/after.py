import torch

is_text = torch.arange(10) >= 3
causal = torch.ones(10, 10).tril().bool()
mask = causal & (is_text | ~is_text[:, None])
scores = torch.zeros(10, 10).masked_fill(~mask, float("-inf"))
weights = scores.softmax(-1)

layer_0 = weights @ torch.ones(10, 1)
layer_1 = weights @ layer_0
logits = layer_1[-1] * torch.linspace(-1, 1, 5)

nan_rows = layer_0.isnan().flatten()[:5]
pad_weight = weights[-1, 0]
text_is_fine = not layer_0[-1].isnan().any()
all_nan = logits.isnan().all()
chosen = logits.argmax()
