"""What kind of thing a fault breaks: its id begins with it."""

OTHERS = "Others"
FAMILIES: dict[str, str] = {
    "pos": "Position",
    "rope": "Position",
    "mask": "Mask",
    "cap": "Capacity",
    "evict": "Eviction",
    "ring": "Eviction",
    "sinks": "Eviction",
    "store": "Storage",
    "beam": "Batch and beam",
    "page": "Paged and shared blocks",
    "spec": "Rollback and reuse",
    "prefix": "Rollback and reuse",
    "gqa": "Heads and numbers",
    "quant": "Heads and numbers",
    "gauge": "What the cache tells the outside",
}
"""First word of an id to the heading under which such faults are listed, in the order of lists."""

FAMOUS: tuple[str, ...] = (
    "mask-top-left",
    "pos-restart",
    "store-row-zero",
    "mask-unwritten",
    "cap-early",
    "cap-counter-first",
)
"""Those to begin with: each is met often, and says at one look what it is."""


def family_of(fault_id: str) -> str:
    """The heading under which a fault is listed."""
    return FAMILIES.get(fault_id.partition("-")[0], OTHERS)
