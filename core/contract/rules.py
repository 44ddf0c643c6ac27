"""All rules, in the order in which they are asked and told."""

from core.contract import (
    rules_blocks,
    rules_capacity,
    rules_copies,
    rules_layers,
    rules_numbers,
    rules_reading,
    rules_shapes,
    rules_undo,
    rules_window,
)
from core.contract.rule import Rule

RULES: tuple[Rule, ...] = (
    *rules_reading.RULES,
    *rules_shapes.RULES,
    *rules_capacity.RULES,
    *rules_copies.RULES,
    *rules_layers.RULES,
    *rules_window.RULES,
    *rules_undo.RULES,
    *rules_numbers.RULES,
    *rules_blocks.RULES,
)
