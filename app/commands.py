"""The commands that need no window, in words: for the help, and to know one from a file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes:
        name: what is typed.
        help: what it is for, beside the others.
        description: the same above its own options.
    """

    name: str
    help: str
    description: str


COMMANDS = (
    Command(
        "run",
        "decode, and judge every step",
        "Decode without a window, and judge every step.",
    ),
    Command(
        "faults",
        "list the faults",
        "List every fault: id, title, seam, tier, and the scenario that shows it.",
    ),
    Command(
        "export",
        "write logits and attention of a trace",
        "Write numbers of a trace as a NumPy .npz file of plain arrays.",
    ),
    Command(
        "compare",
        "find where two traces first differ",
        "Find the first step, layer, head and field in which two traces differ.",
    ),
    Command(
        "battery",
        "check properties of the cache that need no reference",
        "Check properties that a right cache has, by comparing runs with each other.",
    ),
    Command(
        "matrix",
        "every fault, scheme and policy, with many prompts",
        "Measure what each fault does under each position scheme and policy.",
    ),
    Command(
        "lesson",
        "print the lesson of a fault",
        "Print the lesson of a fault: a question and its answers.",
    ),
    Command(
        "record",
        "decode with transformers, and keep what its model read and said",
        "Record a decoding of a checkpoint by transformers, and judge every call.",
    ),
    Command(
        "validate",
        "is a trace well formed, and what does it tell",
        "Say whether a .kvtrace of any engine is well formed, and what is in it.",
    ),
    Command(
        "check",
        "find what is wrong in a cache class, or a model, of your own",
        "Drive somebody's KV cache class, or model, and say what is wrong with it.",
    ),
)
