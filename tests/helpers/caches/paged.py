"""Rows in blocks of a pool; texts that begin alike share blocks until one of them writes."""

import numpy as np


class Pool:
    """Blocks of `size` rows, and how many texts own each."""

    def __init__(self, n_blocks, size, n_layers, n_heads, d_k, d_v):
        self.size = size
        self.k = np.zeros((n_layers, n_blocks, size, n_heads, d_k))
        self.v = np.zeros((n_layers, n_blocks, size, n_heads, d_v))
        self.owners = [0] * n_blocks
        self.texts = []

    @property
    def free(self):
        return [block for block, n in enumerate(self.owners) if n == 0]


class Text:
    """The rows of one text: a table of blocks, and a length for each layer."""

    def __init__(self, pool):
        self.pool, self.table, self.lengths = pool, [], [0] * len(pool.k)
        pool.texts.append(self)

    @classmethod
    def in_new_pool(cls, *sizes):
        return cls(Pool(*sizes))

    def append(self, layer, k, v):
        pool, start = self.pool, self.lengths[layer]
        n, end = len(k), start + len(k)
        wrong = k.shape[1:] != pool.k.shape[3:] or v.shape[1:] != pool.v.shape[3:]
        if wrong or len(v) != n:
            raise ValueError(f"keys {k.shape} and values {v.shape} do not fit")
        blocks = range(start // pool.size, -(-end // pool.size)) if n else ()
        copied = [b for b in blocks if b < len(self.table) and pool.owners[self.table[b]] > 1]
        n_needed = len(copied) + sum(b >= len(self.table) for b in blocks)
        if n_needed > len(pool.free):
            raise MemoryError(f"needs {n_needed} blocks, {len(pool.free)} free")
        for at in copied:
            self._copy(at)
        for at in blocks:
            if at >= len(self.table):
                self.table.append(self._taken())
        for i in range(n):
            block, row = self.table[(start + i) // pool.size], (start + i) % pool.size
            pool.k[layer, block, row], pool.v[layer, block, row] = k[i], v[i]
        self.lengths[layer] = end

    def _taken(self):
        block = self.pool.free[0]
        self.pool.owners[block] = 1
        return block

    def _copy(self, at):
        old, new = self.table[at], self._taken()
        self.pool.k[:, new], self.pool.v[:, new] = self.pool.k[:, old], self.pool.v[:, old]
        self.pool.owners[old] -= 1
        self.table[at] = new

    def read(self, layer):
        n = self.lengths[layer]
        found = []
        for rows in (self.pool.k, self.pool.v):
            shown = rows[layer, self.table]
            found.append(shown.reshape(-1, *rows.shape[3:])[:n].copy())
        return found

    def truncate(self, n):
        if not 0 <= n <= max(self.lengths):
            raise ValueError(f"cannot keep {n} of {max(self.lengths)} rows")
        self.lengths = [min(n, length) for length in self.lengths]
        while len(self.table) > -(-n // self.pool.size):
            self.pool.owners[self.table.pop()] -= 1

    def fork(self):
        other = Text(self.pool)
        other.table, other.lengths = list(self.table), list(self.lengths)
        for block in self.table:
            self.pool.owners[block] += 1
        return other
