"""Rules of a KV cache, asked of a class that somebody else wrote.

Reading order: `calls` (what can be asked), `ideal` (what a right cache answers), `rules` (what is
compared), `check` (which rules are broken, and which of them are the roots), `report`. The class
itself lives in another process: `subject` starts it, the package `child` runs in it.
"""
