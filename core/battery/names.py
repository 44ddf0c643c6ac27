"""The eight properties by name. Imports no torch: the help lists them."""

PROPERTIES: dict[str, str] = {
    "chunks": "a prompt read in chunks gives what the whole prompt gives",
    "one-by-one": "tokens read one by one give what chunks of them give",
    "restore": "a run goes on from what was saved as if it had never stopped",
    "rewind": "tokens that are taken back and read again give what they gave before",
    "slots": "it does not matter in which slots the rows lie, nor in which order they are read",
    "new-prompt": "a new prompt after an old one starts afresh",
    "neighbours": "a row gives alone what it gives beside others",
    "eviction": "rows leave neither too early nor too late",
}

DEFAULT_MODELS = ("tiny-learned", "tiny-rope", "tiny-alibi")
