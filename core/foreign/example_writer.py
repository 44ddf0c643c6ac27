"""How another engine writes a trace for kvscope: numpy and safetensors suffice. Copy this file."""
# pyright: basic

import json
import sys

import numpy as np
from safetensors.numpy import save_file


def write_trace(path: str, token_ids: list, logits: list, about: dict, **more: list) -> None:
    """Write a .kvtrace.

    Args:
        path: the file.
        token_ids: the N tokens that the model read, call after call.
        logits: for each of C calls, the V logits after its last token.
        about: {"engine": name and version, "dtype": number type it computed in}, or {}.
        more: what else is known: n_tokens [C] that each call read (else: all but the last C - 1
            in the first call, then one each), position_ids [N], cache_length [C] after each call,
            reference [C, V] logits of the same model without a cache.
    """
    tensors = {"token_ids": np.array(token_ids, np.int64), "logits": np.array(logits, np.float32)}
    for name, value in more.items():
        tensors[name] = np.array(value, np.float32 if name == "reference" else np.int64)
    said = json.dumps({"schema": 1, **about})
    save_file(tensors, path, {"kvscope_foreign": said})


if __name__ == "__main__":  # a toy engine: the next token is the one after the last
    text, rows = [3, 4, 5], []
    for _ in range(4):
        rows.append(np.eye(10)[(text[-1] + 1) % 10])
        text.append(int(rows[-1].argmax()))
    write_trace(sys.argv[1], text[:-1], rows, {"engine": "toy 1.0"})
