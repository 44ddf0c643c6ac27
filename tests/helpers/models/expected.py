"""What must be said of each model of `faults` and `opaque`."""

from core.contract.model.order import NEW_FIRST, OTHER

FAULTS = {
    "PosRestart": ("pos-restart", 1),
    "PosRestartRope": ("pos-restart", 1),
    "PosSkipSingle": ("pos-skip-single", 1),
    "PosWrongAxis": ("pos-wrong-axis", 1),
    "PosHole": ("pos-hole", 1),
    "PosMemo": ("pos-memo", 2),
    "PosStalePrompt": ("pos-stale-prompt", 2),
    "PosLayerCounter": ("pos-layer-counter", 1),
    "PosCapturedAlias": ("pos-captured-alias", 0),
    "PosRetainedRows": ("pos-retained-rows", 3),
    "RopeOnRead": ("rope-on-read", 1),
    "RopeWritebackLost": ("rope-writeback-lost", 0),
    "MaskTopLeft": ("mask-top-left", 1),
    "MaskCausalFlag": ("mask-top-left", 1),
    "MaskOwnBlock": ("mask-own-block", 1),
    "MaskOffWithCache": ("mask-off-with-cache", 0),
    "MaskUnwritten": ("mask-unwritten", 0),
    "StoreRowZero": ("store-row-zero", 1),
    "StoreFirstLost": ("store-first-lost", 0),
    "StoreWriteLost": ("store-write-lost", 0),
    "StoreAliasIn": ("store-alias-in", 2),
    "StoreLayersShare": ("store-layers-share", 1),
    "StoreDoubleAppend": ("store-double-append", 2),
    "StoreGrowScramble": ("store-grow-scramble", 2),
    "EvictNewest": ("evict-newest", 2),
    "EvictOffByOne": ("evict-off-by-one", 2),
    "EvictNever": ("evict-never", 2),
    "Narrowed": ("rows are kept with fewer digits than they have", 0),
    "PastNotRead": ("the past is not read", 1),
    "ValuesLate": ("keys and values of different tokens stand in one row", 1),
    "NewestMissing": ("rows that must be read are missing", 1),
}
"""class: what is named, and the first wrong call of a prefill of 5 tokens and single ones."""

ONLY_CHUNKS = {"MaskOwnChunk": "mask-own-chunk", "EvictBeforeAttend": "evict-before-attend"}
"""class: what is named, where single tokens are right."""

OPAQUE_RIGHT = ("Opaque", "Rope", "SealedOpaque", "SealedRope")
OPAQUE_FAULTS = {
    "Restarts": ["pos-restart"],
    "RestartsRope": ["pos-restart"],
    "OneTooFar": ["pos-hole"],
    "TopLeft": ["mask-top-left"],
    "Both": ["pos-restart", "mask-top-left"],
    "NewFirst": [NEW_FIRST],
    "Reversed": [OTHER],
    "OpenMask": ["mask-off-with-cache"],
    "PastLost": ["the call is blind to all earlier tokens"],
    "SealedRestarts": ["pos-restart"],
    "SealedRestartsRope": ["logits hang on how earlier tokens were split into calls"],
    "SealedTopLeft": ["mask-top-left"],
    "SealedBoth": ["pos-restart", "mask-top-left"],
    "SealedNewFirst": [NEW_FIRST],
    "SealedReversed": ["tokens of a call see other tokens than they must"],
}
"""Model: what is named. Sealed ones give back bytes, so that no kept row is seen either."""
