"""Properties that a right cache has, each checked by comparing runs with each other.

No reference is asked: two ways of reading the same tokens must give the same logits. Reading order:
`names`, `case`, `bench`, one of the property files (`chunks` is the plainest), `laws`, `shrink`.
"""
