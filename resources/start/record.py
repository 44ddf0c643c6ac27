"""Writes the run that the window opens with to `start.kvtrace`, with every number and verdict.

    python -m resources.start.record

To be done again whenever the model, the scenario, or what a trace file holds has changed; a test
makes the run again and compares.
"""

from core.faults.scenarios import FILLING
from core.judge import Judge
from core.model.loading import load_model
from core.session import Session
from core.tracefile import save_trace
from resources import resource_path

START_FILE = resource_path("start", "start.kvtrace")


def main() -> None:
    """Run, judge, write."""
    loaded = load_model(FILLING.model)
    session = Session(FILLING.spec(loaded.tokenizer.encode), loaded)
    trace = session.run()
    judge = Judge(trace, loaded)
    judge.update()
    save_trace(START_FILE, trace, full=True, verdicts=judge.verdicts)
    print(f"{START_FILE}: {len(trace.records)} steps, {START_FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
