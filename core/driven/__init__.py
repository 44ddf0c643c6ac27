"""A small model decodes, and somebody's class keeps its keys and values: records as of our runs.

Nothing is known of the inside of the class. What its slots hold is inferred: the rows that came
back are compared with those that were given. Reading order: `caches` (the calls), `rows` (whose
row came back), `records` (a step's account), `run` (the loop, its verdicts, the file).
"""
