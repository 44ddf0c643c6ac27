"""The cached decoding of a model that somebody else wrote, against its own uncached forward.

Reading order: `sessions` (what is read, and how), `facts` (what was seen of each call), `subject`
(the process that sees it), `verdict` (right, rounding or wrong), `diagnose` with `positions`,
`sight` and `rows` (which mechanism fits), `check`, `reference`, `report`. The model itself lives in
another process: the package `child` runs in it.
"""
