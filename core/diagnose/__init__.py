"""Names the mechanism behind what is wrong in a run, from its records and verdicts alone.

Reading order: `finding.py` (the answer), `account.py` (a step, and what stood when it began),
`aspect.py` (a decision, and the wrong rules that could have made it), then one file for each group
of decisions (`replay.py` for those that take the steps before), `needs.py`, `words.py` (what each
wrong rule is called), `diagnose.py`.
"""
