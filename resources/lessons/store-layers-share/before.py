import numpy as np

N_LAYERS = 4
buffers = [np.zeros(12, dtype=int)] * N_LAYERS


def read_token(token):
    reads = []
    for layer, buffer in enumerate(buffers):
        buffer[token] = 10 * layer + token
        reads.append(buffer[: token + 1].tolist())
    return reads


first_call = read_token(0)
second_call = read_token(1)
one_memory = np.shares_memory(buffers[0], buffers[3])
