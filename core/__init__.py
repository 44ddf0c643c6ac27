"""A GPT with a bounded KV cache, and the oracles that judge it. Imports no Qt.

Reading order: spec, outcome, engine (types, seams, policies, plan, forward, engine), record,
session, then policy_oracle, reference and judge. README.md beside this file draws a step.
"""
