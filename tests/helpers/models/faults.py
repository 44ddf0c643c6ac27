"""One class per fault, each overriding one rule; a function of its name makes the model."""

import torch
from rules import GPT, LAYERS, Rules, turn
from torch.nn import functional as F


class Rope(Rules):
    rope = True


class Window(Rules):
    window = 6


class Buffer(Rules):
    """Rows in a buffer that is larger than the text."""

    def join(self, old, new, cache, layer):
        buffer = torch.zeros(*new.shape[:2], 32, new.shape[-1]) if old is None else old
        at = cache.n
        self.write(buffer, new, at)
        return self.read(buffer, at + new.shape[2], cache), buffer

    def write(self, buffer, new, at):
        buffer[:, :, at : at + new.shape[2]] = new

    def read(self, buffer, n, cache):
        return buffer[:, :, :n]


class PosRestart(Rules):
    def start(self, cache, T):
        return 0


class PosSkipSingle(Rules):
    def positions(self, cache, T):
        return torch.arange(0) if T == 1 and cache.attached else super().positions(cache, T)


class PosWrongAxis(Rules):
    def start(self, cache, T):
        return 0 if cache.k[0] is None else cache.k[0].shape[1]


class PosHole(Rules):
    def start(self, cache, T):
        return cache.n + (cache.n > 0)


class PosRetainedRows(Window):
    def start(self, cache, T):
        return 0 if cache.k[0] is None else cache.k[0].shape[2]


class PosMemo(Rope):
    def __init__(self):
        self.memo = {}

    def positions(self, cache, T):
        return self.memo.setdefault(T, super().positions(cache, T))


class PosStalePrompt(Rope):
    def start(self, cache, T):
        calls = cache.calls
        return sum(calls[:-1]) if len(calls) < 3 else calls[0] + sum(calls[:-2])


class PosLayerCounter(Rope):
    def commit(self, cache, layer, T):
        first = 0 if T == 1 else LAYERS - 1
        cache.n += T * (layer == first)


class PosCapturedAlias(Rope):
    def query_positions(self, ids, cache):
        return ids + len(ids) * cache.attached


class PosRestartRope(Rope):
    def start(self, cache, T):
        return 0


class RopeOnRead(Rope):
    def used_keys(self, keys, raw, cache, n):
        return torch.cat([turn(keys[:, :, :n], torch.arange(n)), keys[:, :, n:]], dim=2)


class RopeWritebackLost(Rope):
    def used_keys(self, keys, raw, cache, n):
        return torch.cat([keys[:, :, :n], raw], dim=2) if cache.attached else keys


class MaskTopLeft(Rules):
    def mask(self, T, S, cache):
        return torch.ones(T, S, dtype=torch.bool).tril()


class MaskCausalFlag(Rules):
    def attend(self, q, k, v, cache):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class MaskOwnBlock(Rules):
    def mask(self, T, S, cache):
        seen = super().mask(T, S, cache)
        seen[:, : S - T] = False
        return seen


class MaskOwnChunk(MaskOwnBlock):
    def mask(self, T, S, cache):
        return super().mask(T, S, cache) if T > 1 else Rules.mask(self, T, S, cache)


class MaskOffWithCache(Rules):
    def mask(self, T, S, cache):
        if cache.attached:
            return torch.ones(T, S, dtype=torch.bool)
        return super().mask(T, S, cache)


class MaskUnwritten(Buffer):
    def read(self, buffer, n, cache):
        return buffer if cache.attached else buffer[:, :, :n]

    def mask(self, T, S, cache):
        if cache.attached:
            return torch.ones(T, S, dtype=torch.bool)
        return super().mask(T, S, cache)


class StoreRowZero(Buffer):
    def write(self, buffer, new, at):
        buffer[:, :, : new.shape[2]] = new


class StoreFirstLost(Buffer):
    def write(self, buffer, new, at):
        super().write(buffer, new, at)
        if at == 0 and new.shape[2] > 0 and self.is_attached:
            buffer[:, :, 0] = 0

    def join(self, old, new, cache, layer):
        self.is_attached = cache.attached
        return super().join(old, new, cache, layer)


class StoreWriteLost(StoreFirstLost):
    def write(self, buffer, new, at):
        Buffer.write(self, buffer.clone() if self.is_attached else buffer, new, at)


class StoreAliasIn(Rules):
    """Rows that come alone stand in one array of their layer, which the cache keeps."""

    def join(self, old, new, cache, layer):
        old = [] if old is None else old
        kept = [*old, new]
        shown = [new if part.shape[2] == 1 and new.shape[2] == 1 else part for part in kept]
        return torch.cat(shown, dim=2), kept


class StoreLayersShare(Buffer):
    """One buffer for the keys of all layers, and one for the values."""

    def join(self, old, new, cache, layer):
        shared = next(
            (x for x in (cache.k if self.turn_of_keys(cache) else cache.v) if x is not None), None
        )
        return super().join(shared, new, cache, layer)

    def turn_of_keys(self, cache):
        cache.starts.append(0)
        return len(cache.starts) % 2 == 1


class StoreDoubleAppend(Rules):
    def join(self, old, new, cache, layer):
        rows, _ = super().join(old, new, cache, layer)
        return rows, rows if old is None else torch.cat([old, rows], dim=2)


class StoreGrowScramble(Rules):
    """A buffer for 6 rows, made twice as long when it is full, by its flat numbers."""

    def join(self, old, new, cache, layer):
        B, H, T, D = new.shape
        size = 6 if cache.attached else 32
        buffer = torch.zeros(B, H, size, D) if old is None else old
        n = cache.n + T
        while n > buffer.shape[2]:
            flat = torch.zeros(2 * buffer.numel())
            flat[: buffer.numel()] = buffer.flatten()
            buffer = flat.view(B, H, 2 * buffer.shape[2], D)
        buffer[:, :, cache.n : n] = new
        return buffer[:, :, :n], buffer


class EvictNewest(Window):
    def join(self, old, new, cache, layer):
        rows, kept = super().join(old, new, cache, layer)
        if rows.shape[2] > self.window:
            T = new.shape[2]
            rows = (
                torch.cat([rows[:, :, : max(self.window - T, 0)], new], dim=2)
                if old is not None
                else rows
            )
            kept = rows[:, :, -self.window :] if old is None else rows[:, :, : self.window]
        return rows, kept


class EvictOffByOne(Window):
    def join(self, old, new, cache, layer):
        rows, _ = Rules.join(self, old, new, cache, layer)
        return rows, rows[:, :, -7:]

    def mask(self, T, S, cache):
        seen = super().mask(T, S, cache)
        if cache.attached:
            query, key = torch.arange(S - T, S)[:, None], torch.arange(S)[None]
            seen = (key <= query) & (key > query - 7)
        return seen


class EvictNever(Window):
    def join(self, old, new, cache, layer):
        rows = new if old is None else torch.cat([old, new], dim=2)
        return rows, rows

    def mask(self, T, S, cache):
        if cache.attached and T == 1:
            return torch.ones(T, S, dtype=torch.bool)
        return super().mask(T, S, cache)


class EvictBeforeAttend(Window):
    def join(self, old, new, cache, layer):
        rows, kept = super().join(old, new, cache, layer)
        return (kept if cache.attached else rows), kept


class Narrowed(Rules):
    """Rows are kept in 8 bits."""

    def join(self, old, new, cache, layer):
        scale = new.abs().amax(dim=-1, keepdim=True) / 127
        return super().join(
            old, (new / scale).round() * scale if cache.attached else new, cache, layer
        )


class PastNotRead(Rules):
    def join(self, old, new, cache, layer):
        _, kept = super().join(old, new, cache, layer)
        return new, kept


class ValuesLate(Rules):
    """Values lie one row behind their keys from the second call on."""

    def attend(self, q, k, v, cache):
        if q.shape[2] < k.shape[2]:
            v = torch.cat([v[:, :, :1], v[:, :, :-1]], dim=2)
        return super().attend(q, k, v, cache)


class NewestMissing(Rules):
    """The row of the token itself is stored after it has attended."""

    def join(self, old, new, cache, layer):
        rows, kept = super().join(old, new, cache, layer)
        return (old if old is not None and new.shape[2] == 1 else rows), kept

    def mask(self, T, S, cache):
        return torch.ones(1, S, dtype=torch.bool) if T == 1 else super().mask(T, S, cache)


def slight_in_16_bits():
    """A fault that is no more than what the number type could do."""
    return GPT(EvictOffByOne()).to(torch.bfloat16)


def right():
    return GPT(Rules())


def right_rope():
    return GPT(Rope())


def right_window():
    return GPT(Window())


def right_buffer():
    return GPT(Buffer())


def _maker(rules):
    return lambda: GPT(rules())


for _name, _class in list(globals().items()):
    if isinstance(_class, type) and issubclass(_class, Rules) and _class.__module__ == __name__:
        globals()[f"make_{_name}"] = _maker(_class)
