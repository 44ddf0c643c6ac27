"""Models with the weights of a checkpoint folder, which an environment variable names."""

import os

import torch
from transformers import AutoModelForCausalLM


def right():
    return AutoModelForCausalLM.from_pretrained(os.environ["CHECKPOINT"], dtype=torch.float32)


def swapped_heads():
    """Query heads read the key heads in another order, with and without a cache."""
    model = right()
    with torch.no_grad():
        for layer in model.model.layers:
            for projection in (layer.self_attn.k_proj, layer.self_attn.v_proj):
                n = model.config.num_key_value_heads
                by_head = projection.weight.view(n, -1, projection.weight.shape[1])
                projection.weight.copy_(by_head.flip(0).reshape(projection.weight.shape))
    return model
