"""The options of the commands."""

import argparse

from app.cli_shared_options import add_prompt_options
from app.cli_values import (
    TENSORS,
    FirstWrong,
    fault_use,
    file_path,
    positive_number,
    step_number,
    tensor_names,
    token_ids,
    whole_number,
)
from core.battery.names import DEFAULT_MODELS, PROPERTIES
from core.spec import DTYPE_NAMES, KV_DTYPE_NAMES, POLICY_NAMES

_RUN_EPILOG = """\
Without a prompt, --fault or --fault-file loads the run that shows the fault; options that are given
override it.
The exit status is 0 (done), 1 (--check found something wrong), 2 (unusable input), 3 (internal
error) or 130 (interrupted).
"""


def add_fault_files(parser: argparse.ArgumentParser, use: str) -> None:
    """The option that loads faults of one's own; `use` says what becomes of them."""
    parser.add_argument(
        "--fault-file",
        type=file_path,
        action="append",
        default=[],
        metavar="FILE.py",
        help=f"run this file of Python and {use} (repeatable)",
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope run`. None stands for an option that is not given."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _RUN_EPILOG
    add = parser.add_argument
    add("--model", metavar="NAME|PATH", help="a model's name or folder (default: learned)")
    add_prompt_options(parser, required=False)
    add("--steps", type=whole_number, metavar="N", help="decode steps (default: 24)")
    add("--policy", choices=POLICY_NAMES, help="what happens when there is no room")
    add("--capacity", type=whole_number, metavar="C", help="slots (default: 128, or fewer)")
    add("--sinks", type=whole_number, metavar="S", help="kept first tokens (default: 4)")
    add("--reassign-positions", action="store_true", default=None, help="number tokens by rank")
    add("--chunk", type=whole_number, metavar="N", help="tokens per prefill step")
    add(
        "--fault",
        type=fault_use,
        action="append",
        default=[],
        metavar="ID[@FROM[-TO]][:layers=0,2]",
        help="switch a fault on, in these steps and layers (repeatable; see kvscope faults)",
    )
    add_fault_files(parser, "switch its faults on, or those of them that --fault names")
    add("--force-ids", type=token_ids, metavar="4,5,6", help="the first generated tokens")
    add("--temperature", type=float, metavar="T", help="0 is greedy (default); above, samples")
    sampling = "(needs --temperature above 0)"
    add("--top-k", type=whole_number, metavar="K", help=f"sample among the K best {sampling}")
    add("--top-p", type=float, metavar="P", help=f"sample in this share of chance {sampling}")
    add("--seed", type=whole_number, metavar="S", help=f"of the sampling, default 0 {sampling}")
    add("--device", help="auto, cpu, cuda, cuda:N or mps (default: cpu)")
    add("--dtype", choices=DTYPE_NAMES, help="number type (default: float32)")
    add("--kv-dtype", choices=KV_DTYPE_NAMES, help="narrower rows (default: as they are computed)")
    add(
        "--growable",
        action="store_true",
        default=None,
        help="start with a small buffer and double it as needed (default: room for all rows)",
    )
    add(
        "--poison",
        action="store_true",
        default=None,
        help="fill dead rows so that reading one makes the logits no numbers",
    )
    add(
        "--liveness",
        type=positive_number,
        metavar="K",
        help="in every K-th step, if it is a decode, change rows: live ones must change the logits",
    )
    add(
        "--errors",
        type=step_number,
        nargs="?",
        const=FirstWrong.STEP,
        metavar="STEP",
        help="a table of the largest errors of this step (default: the first that is wrong)",
    )
    add(
        "--trace",
        type=file_path,
        metavar="FILE",
        help="write a full .kvtrace: all numbers of all steps",
    )
    add("--json", action="store_true", help="JSON Lines instead of an account")
    add("--check", action="store_true", help="exit status 1 if anything is found wrong")


def add_faults_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope faults`."""
    parser.add_argument("--json", action="store_true", help="JSON Lines")
    add_fault_files(parser, "list its faults too")


def add_compare_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope compare`."""
    parser.add_argument("a", metavar="A", help="a .kvtrace")
    parser.add_argument("b", metavar="B", help="another one")
    parser.add_argument("--check", action="store_true", help="exit status 1 if they differ")
    add_fault_files(parser, "use its faults where a trace names them")


def add_export_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope export`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "logits              [steps, vocabulary]; a row of NaN where nothing was computed\n"
        "attention_00000     [layers, heads, new tokens, keys] of step 0, and so on\n"
        "attention_tokens_00000          [keys] token index of each key, -1 where it holds none\n"
        "attention_tokens_00000_layer_2  the same for a layer whose rows differ from layer 0's"
    )
    parser.add_argument("trace", type=file_path, metavar="TRACE", help="a .kvtrace")
    parser.add_argument(
        "--tensors",
        type=tensor_names,
        default=TENSORS,
        metavar="logits,attention",
        help="what to write (default: both)",
    )
    parser.add_argument("--out", type=file_path, required=True, metavar="FILE.npz", help="where to")
    add_fault_files(parser, "use its faults where the trace names them")


def add_battery_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope battery`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = "\n".join(f"  {name:<12}{sentence}" for name, sentence in PROPERTIES.items())
    parser.epilog = (
        f"the properties (each has laws of its own, which can be named too):\n{listed}\n\n"
        "A failure is made small: fewest tokens, then layers, then slots. The exit status is 0\n"
        "(all hold), 1 (one does not), 2 (unusable input)."
    )
    add = parser.add_argument
    add(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="a property or one of its laws (repeatable; default: all)",
    )
    add(
        "--fault",
        type=fault_use,
        action="append",
        default=[],
        metavar="ID[:layers=0,2]",
        help="break the engine on purpose, to see what is found (repeatable)",
    )
    add_fault_files(parser, "switch its faults on, or those of them that --fault names")
    models = ", ".join(DEFAULT_MODELS)
    add(
        "--model",
        action="append",
        default=[],
        metavar="NAME|PATH",
        help=f"a model (repeatable; default: {models})",
    )
    add("--seed", type=whole_number, default=0, metavar="S", help="of tokens and windows")
    add(
        "--most",
        type=positive_number,
        metavar="N",
        help="cases of each law, drawn by the seed (default: all)",
    )
    add("--dtype", choices=DTYPE_NAMES, default="float64", help="number type (default: float64)")
    add("--case", metavar="TEXT", help="one case alone, as a failure prints it")
    add(
        "--write-tests",
        type=file_path,
        metavar="FILE",
        help="write the smallest failures as a pytest file",
    )
    add("--json", action="store_true", help="JSON Lines instead of an account")


def add_matrix_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope matrix`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "Ctrl+C stops it: what is finished stands in the file of --resume, and the same command\n"
        "goes on from there. Text is compared with the right run under the same policy."
    )
    add = parser.add_argument
    add("--prompts", type=positive_number, default=10, metavar="N", help="a cell (default: 10)")
    add("--jobs", type=positive_number, default=1, metavar="J", help="processes (default: 1)")
    add("--seed", type=whole_number, default=0, metavar="S", help="of the prompts")
    add(
        "--fault",
        action="append",
        default=[],
        metavar="ID",
        help="only this fault (repeatable; default: all)",
    )
    add_fault_files(parser, "measure its faults, or those of them that --fault names")
    add(
        "--model",
        action="append",
        default=[],
        metavar="NAME|PATH",
        help="a model (repeatable; default: learned, tiny-rope, tiny-alibi)",
    )
    policies = (*POLICY_NAMES, "ranks")
    add(
        "--policy",
        action="append",
        default=[],
        choices=policies,
        help="only this policy (repeatable; ranks: sinks, positions re-assigned)",
    )
    add("--csv", type=file_path, metavar="FILE", help="write a line for each cell")
    add("--markdown", type=file_path, metavar="FILE", help="write the table")
    add("--picture", type=file_path, metavar="FILE.svg", help="draw the table")
    add(
        "--resume",
        type=file_path,
        metavar="FILE",
        help="keep finished cells here, and go on from them",
    )
    add("--json", action="store_true", help="JSON Lines instead of the table")


def add_lesson_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope lesson`."""
    add = parser.add_argument
    add("id", nargs="?", metavar="ID", help="a fault (kvscope faults lists them)")
    add("--format", choices=("md", "html"), default="md", help="Markdown (default), or one page")
    add("--without-answers", action="store_true", help="the questions alone, to be handed out")
