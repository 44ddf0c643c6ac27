"""Everything that decides a run: the frozen RunSpec and its requests.

More than 300 lines, because settings and requests are checked against each other, and each check
stands where the value is defined.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from core.errors import FaultError, SpecError

PolicyName = Literal["refuse", "window", "reprefill", "sinks"]
DTypeName = Literal["float32", "float64", "bfloat16", "float16"]
KvDTypeName = Literal["int8"]
KV_DTYPE_NAMES: tuple[str, ...] = get_args(KvDTypeName)
POLICY_NAMES: tuple[str, ...] = get_args(PolicyName)
DTYPE_NAMES: tuple[str, ...] = get_args(DTypeName)


@dataclass(frozen=True, slots=True)
class Prefill:
    """Read these tokens after what was read before.

    Attributes:
        token_ids: the tokens.
        n_pad: rows of padding before them, as in a batch with a longer prompt. Only the first
            request can have any, only without chunks and under the policy refuse.
    """

    token_ids: tuple[int, ...]
    n_pad: int = 0


@dataclass(frozen=True, slots=True)
class Decode:
    """Read the next token: the forced one, else the engine's own choice."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """Take the newest `n` tokens back; the first of them is the next one to be read."""

    n: int


@dataclass(frozen=True, slots=True)
class Verify:
    """Read the next token and these drafts at once; keep the first `n_accept` drafts.

    The other drafts are taken back in the same step, and the token after the last one kept is the
    next to be read. Only the policy refuse takes it.
    """

    token_ids: tuple[int, ...]
    n_accept: int

    @property
    def n_rejected(self) -> int:
        """Drafts that are taken back."""
        return len(self.token_ids) - self.n_accept


@dataclass(frozen=True, slots=True)
class Reorder:
    """Sequence b goes on from the text of sequence `parents[b]`, for every sequence at once."""

    parents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NewPrompt:
    """Forget the text and read these tokens.

    Attributes:
        token_ids: the new text.
        reuse_prefix: keep the rows of the tokens that both texts begin with, the last one of the
            new text excepted. Only the policy refuse takes it, and no chunks.
    """

    token_ids: tuple[int, ...]
    reuse_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """Call the cache without a model pass: append `n_keys` key rows and `n_values` value rows.

    The rows hold no token. Only the policy refuse takes probes.
    """

    n_keys: int
    n_values: int


Request = Prefill | Decode | Verify | Rollback | Reorder | NewPrompt | Probe


@dataclass(frozen=True, slots=True)
class FaultFile:
    """A file of one's own in which a fault stands. It is named here, and never run from here.

    Attributes:
        name: its name, without its folder.
        digest: SHA-256 of its bytes, in hexadecimal.
    """

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class FaultUse:
    """A fault switched on: from and to which step (both included), in which layers.

    Attributes:
        id: the fault's id.
        first_step: first step in which it acts.
        last_step: last step in which it acts; None: to the end.
        layers: layers in which it acts; None: all.
        file: the file that it comes from; None: it is one of the program's.
    """

    id: str
    first_step: int = 0
    last_step: int | None = None
    layers: tuple[int, ...] | None = None
    file: FaultFile | None = None

    def __post_init__(self) -> None:
        """Raise FaultError where a layer is named twice."""
        if self.layers is None or len(set(self.layers)) == len(self.layers):
            return
        named, once = (",".join(map(str, each)) for each in (self.layers, sorted(set(self.layers))))
        raise FaultError(f"{self.id}: layers={named} names a layer twice; write layers={once}")


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What decides a run; two runs of one spec on one device give the same records.

    Attributes:
        model: a built-in or shipped model's name, or the path of a checkpoint folder.
        prompt_ids: tokens of the first prefill.
        steps: decode steps after the prefill (unless `requests` says otherwise).
        policy: what happens when there is no room.
        capacity: slots there are. Under window and sinks also the window, counting the query.
        sinks: slots kept for the first tokens (policy sinks only).
        reassign_positions: number the kept tokens by their rank in the cache (sinks only).
        chunk: tokens per prefill step; None: the whole prompt at once.
        faults: what is broken on purpose.
        force_ids: the first generated tokens; None leaves one to the engine.
        temperature: 0 is greedy.
        top_k: sample among the k best; None: all.
        top_p: sample among the fewest tokens that hold this share of the probability.
        seed: with the step number, decides the sampling of a step.
        device: "cpu", "cuda", "cuda:N", "mps".
        dtype: number type of weights and cache.
        kv_dtype: "int8": keys and values are kept with 255 steps a row; None: as computed.
        growable: start with a small buffer and double it whenever a row past its end is needed.
        poison: fill rows that hold nothing that counts (never written, evicted, taken back,
            forgotten), so that reading one shows in the logits. A right run stays the same.
        n_sequences: beams that read the same prompt and go on from its best tokens. More than one
            take a prefill, decodes and reorders only, under the policy refuse.
        requests: the whole list of requests; None: prefill the prompt, then decode.
    """

    model: str
    prompt_ids: tuple[int, ...]
    steps: int = 24
    policy: PolicyName = "refuse"
    capacity: int = 128
    sinks: int = 0
    reassign_positions: bool = False
    chunk: int | None = None
    faults: tuple[FaultUse, ...] = ()
    force_ids: tuple[int | None, ...] = ()
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    device: str = "cpu"
    dtype: DTypeName = "float32"
    kv_dtype: KvDTypeName | None = None
    growable: bool = False
    poison: bool = False
    n_sequences: int = 1
    requests: tuple[Request, ...] | None = None

    def __post_init__(self) -> None:
        """Raise SpecError on a setting that cannot be used, whatever the model."""
        _check_kinds(self)
        _check_numbers(self)
        _check_policy(self)
        _check_ids("prompt_ids", self.prompt_ids)
        _check_ids("force_ids", (token for token in self.force_ids if token is not None))
        prefill = (Prefill(self.prompt_ids),)
        for request in prefill if self.requests is None else self.requests:
            _check_request(self, request)
        if self.n_sequences > 1:
            _check_sequences(self)

    @property
    def all_requests(self) -> tuple[Request, ...]:
        """The list of requests that this spec runs."""
        if self.requests is not None:
            return self.requests
        return (Prefill(self.prompt_ids), *(Decode() for _ in range(self.steps)))

    @property
    def longest_append(self) -> int:
        """Most tokens that one step reads at once."""
        longest = max(
            (_n_at_once(r) for r in self.all_requests),
            default=1,
        )
        drafts = max((_n_at_once(r) for r in self.all_requests if isinstance(r, Verify)), default=1)
        return max(1, drafts, min(longest, self.chunk or longest))

    @property
    def number_kind(self) -> str:
        """Number type, and how rows are narrowed: what decides how much rounding there is."""
        return self.dtype if self.kv_dtype is None else f"{self.dtype}+{self.kv_dtype}"

    @property
    def first_rows(self) -> int:
        """Rows that a growable buffer starts with: the longest append, and at least eight."""
        return max(8, self.longest_append)

    def field_of(self, request: Request) -> str:
        """The field that holds the tokens of a request."""
        is_prompt = isinstance(request, Prefill) and request.token_ids == self.prompt_ids
        return "prompt_ids" if is_prompt else "requests"


def _n_at_once(request: Request) -> int:
    """Tokens that a request reads at once, if it is not cut into chunks."""
    match request:
        case Prefill(token_ids, n_pad):
            return n_pad + len(token_ids)
        case NewPrompt(token_ids):
            return len(token_ids)
        case Verify(drafts):
            return 1 + len(drafts)
        case _:
            return 1


def _is_int(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _check_kinds(spec: RunSpec) -> None:
    for name in ("model", "device"):
        value: object = getattr(spec, name)
        if not isinstance(value, str):
            raise SpecError(f"{name} is {value!r}; it must be a name", field=name)
    for name in ("reassign_positions", "growable", "poison"):
        value = getattr(spec, name)
        if not isinstance(value, bool):
            raise SpecError(f"{name} is {value!r}; it must be true or false", field=name)


def _check_numbers(spec: RunSpec) -> None:
    whole: Sequence[tuple[str, object, int]] = (
        ("capacity", spec.capacity, 1),
        ("steps", spec.steps, 0),
        ("sinks", spec.sinks, 0),
        ("seed", spec.seed, 0),
        ("n_sequences", spec.n_sequences, 1),
        ("chunk", 1 if spec.chunk is None else spec.chunk, 1),
        ("top_k", 1 if spec.top_k is None else spec.top_k, 1),
    )
    for name, value, least in whole:
        if not _is_int(value, least):
            raise SpecError(
                f"{name} is {value!r}; it must be a whole number of at least {least}", field=name
            )
    if not 0 <= spec.temperature < float("inf"):
        raise SpecError(
            f"temperature is {spec.temperature}; it must be 0 (greedy) or a finite number above",
            field="temperature",
        )
    if spec.top_p is not None and not 0 < spec.top_p <= 1:
        raise SpecError(f"top_p is {spec.top_p}; it must be above 0 and at most 1", field="top_p")
    if spec.kv_dtype is not None:
        _check_kv_dtype(spec)
    if spec.dtype not in DTYPE_NAMES:
        raise SpecError(
            f"dtype {spec.dtype!r} is not known; choose {', '.join(DTYPE_NAMES)}", field="dtype"
        )


def _check_kv_dtype(spec: RunSpec) -> None:
    if spec.kv_dtype not in KV_DTYPE_NAMES:
        raise SpecError(
            f"kv_dtype {spec.kv_dtype!r} is not known; choose {', '.join(KV_DTYPE_NAMES)}, or none "
            "to keep rows as they are computed",
            field="kv_dtype",
        )
    if spec.reassign_positions:
        raise SpecError(
            f"kv_dtype {spec.kv_dtype} does not go with re-assigned positions; choose one of them",
            field="kv_dtype",
        )


def _check_policy(spec: RunSpec) -> None:
    if spec.policy not in POLICY_NAMES:
        raise SpecError(
            f"policy {spec.policy!r} is not known; choose {', '.join(POLICY_NAMES)}",
            field="policy",
        )
    for name, value in (("sinks", spec.sinks), ("reassign_positions", spec.reassign_positions)):
        if value and spec.policy != "sinks":
            raise SpecError(
                f"{name} = {value} needs the policy sinks, not {spec.policy}", field=name
            )
    if spec.policy == "sinks" and spec.sinks >= spec.capacity:
        raise SpecError(
            f"{spec.sinks} sinks leave no slot for newer tokens in a capacity of {spec.capacity}; "
            f"choose at most {spec.capacity - 1} sinks",
            field="sinks",
        )


def _check_ids(field: str, token_ids: Iterable[int]) -> None:
    for token in token_ids:
        if not _is_int(token, 0):
            raise SpecError(
                f"token id {token!r} is none; it must be a whole number from 0", field=field
            )


def _check_request(spec: RunSpec, request: Request) -> None:
    match request:
        case Verify(token_ids):
            _check_ids("requests", token_ids)
            _check_verify(spec, request)
        case Prefill() | NewPrompt():
            _check_prompt(spec, request)
        case Rollback(n) if not _is_int(n, 1):
            raise SpecError(f"rollback of {n!r} tokens; it must be at least 1", field="requests")
        case Probe():
            _check_probe(spec, request)
        case Reorder():
            _check_reorder(spec, request)
        case _:
            pass


def _check_prompt(spec: RunSpec, request: Prefill | NewPrompt) -> None:
    if isinstance(request, NewPrompt):
        if request.reuse_prefix:
            _check_reuse(spec)
    elif request.n_pad != 0:
        _check_padding(spec, request)
    if not request.token_ids:
        raise SpecError(
            "the prompt is empty; give at least one token", field=spec.field_of(request)
        )
    _check_ids(spec.field_of(request), request.token_ids)


def _check_verify(spec: RunSpec, verify: Verify) -> None:
    if spec.policy != "refuse":
        raise SpecError(
            f"verifying drafts needs the policy refuse, not {spec.policy}", field="policy"
        )
    n_drafts = len(verify.token_ids)
    if n_drafts == 0 or not _is_int(verify.n_accept, 0) or verify.n_accept > n_drafts:
        raise SpecError(
            f"{verify.n_accept!r} of {n_drafts} drafts are to be kept; give at least one draft, "
            "and keep none, some or all of them",
            field="requests",
        )


def _check_padding(spec: RunSpec, prefill: Prefill) -> None:
    if not _is_int(prefill.n_pad, 0):
        raise SpecError(
            f"padding of {prefill.n_pad!r} rows; it must be at least 0", field="requests"
        )
    if prefill is not spec.all_requests[0]:
        raise SpecError("only the first request can have padding", field="requests")
    if spec.policy != "refuse" or spec.chunk is not None:
        raise SpecError(
            "padding needs the policy refuse and no chunks, not "
            f"{spec.policy} and chunk {spec.chunk}",
            field="policy" if spec.policy != "refuse" else "chunk",
        )


def _check_reorder(spec: RunSpec, reorder: Reorder) -> None:
    n = spec.n_sequences
    is_good = len(reorder.parents) == n and all(_is_int(p, 0) and p < n for p in reorder.parents)
    if n < 2 or not is_good:
        raise SpecError(
            f"a reorder to the parents {list(reorder.parents)} of {n} sequences; name one parent, "
            f"0 to {n - 1}, for each of at least two",
            field="requests",
        )


def _check_sequences(spec: RunSpec) -> None:
    first, *others = spec.all_requests
    if spec.policy != "refuse" or spec.chunk is not None or spec.growable:
        raise SpecError(
            f"{spec.n_sequences} sequences need the policy refuse, no chunks and a buffer that "
            "has all its rows",
            field="n_sequences",
        )
    is_prefill = isinstance(first, Prefill) and first.n_pad == 0
    if not is_prefill or not all(isinstance(r, Decode | Reorder) for r in others):
        raise SpecError(
            f"{spec.n_sequences} sequences take a prefill without padding, then decodes and "
            "reorders only",
            field="requests",
        )


def _check_reuse(spec: RunSpec) -> None:
    if spec.policy != "refuse" or spec.chunk is not None:
        raise SpecError(
            "to use the rows of a common prefix again needs the policy refuse and no chunks, not "
            f"{spec.policy} and chunk {spec.chunk}",
            field="policy" if spec.policy != "refuse" else "chunk",
        )


def _check_probe(spec: RunSpec, probe: Probe) -> None:
    if spec.policy != "refuse":
        raise SpecError(f"a probe needs the policy refuse, not {spec.policy}", field="policy")
    if spec.kv_dtype is not None:
        raise SpecError(
            f"a probe needs rows that are kept as given, not {spec.kv_dtype}", field="kv_dtype"
        )
    if not (_is_int(probe.n_keys, 1) and _is_int(probe.n_values, 1)):
        raise SpecError(
            f"a probe of {probe.n_keys!r} keys and {probe.n_values!r} values; "
            "both must be at least 1",
            field="requests",
        )
