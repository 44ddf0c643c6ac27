"""The worker, asked in the test's own thread: what it answers, and in which order."""

import threading
from pathlib import Path

import pytest

from app.draft import Draft
from app.messages import Advance, Again, Save, Start
from app.worker import Worker
from core.spec import Decode, FaultUse
from tests.app.fakes import FakeBackend

DRAFT = Draft("learned", "ab", steps=4)
FAULTY = Draft("learned", "ab", steps=4, faults=(FaultUse("pos-restart"),))
SIGNALS = (
    "ready", "started", "remade", "recorded", "clean_recorded", "judged", "ended", "idle", "failed"
)  # fmt: skip


class Answers:
    """Everything that a worker said, in order."""

    def __init__(self, worker: Worker) -> None:
        self.all: list[tuple[str, object]] = []
        for name in SIGNALS:
            getattr(worker, name).connect(self._keeper(name))

    def _keeper(self, name: str):
        return lambda message: self.all.append((name, message))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.all]

    def of(self, name: str) -> list:
        return [message for said, message in self.all if said == name]

    @property
    def steps(self) -> list[int]:
        return [record.step for message in self.of("recorded") for record in message.records]


def asked(backend: FakeBackend) -> tuple[Worker, Answers]:
    worker = Worker(lambda: backend)
    answers = Answers(worker)
    worker.load()
    return worker, answers


def start(run_id: int = 1, draft: Draft = DRAFT, n: int | None = 1) -> Start:
    return Start(run_id, draft, n, threading.Event())


def known(run_id: int = 1, n_records: int = 1, draft: Draft = DRAFT) -> Again:
    return Again(run_id, draft, n_records, threading.Event())


def advance(n: int, run_id: int = 1, judge_every: int = 1) -> Advance:
    return Advance(known(run_id), n, judge_every)


def test_a_start_is_answered_by_records_then_verdicts_then_rest(qapp):
    worker, answers = asked(FakeBackend())
    worker.start(start(n=3))
    assert answers.names == ["ready", "started", "recorded", "judged", "idle"]
    assert answers.steps == [0, 1, 2]


def test_a_start_without_a_number_makes_all_that_the_draft_plans(qapp):
    worker, answers = asked(FakeBackend())
    worker.start(start(n=None))
    assert answers.steps == [0, 1, 2, 3, 4]
    assert answers.of("ended") == []


def test_steps_past_the_planned_ones_are_decoded(qapp):
    worker, answers = asked(FakeBackend())
    worker.start(start(n=None))
    worker.advance(advance(2))
    assert answers.steps == [0, 1, 2, 3, 4, 5, 6]
    assert answers.of("recorded")[-1].spec.steps == 6


def test_a_refused_step_is_a_record_and_with_it_the_run_is_over(qapp):
    worker, answers = asked(FakeBackend(room=2))
    worker.start(start(n=2))
    assert answers.of("ended") == []
    worker.advance(advance(1))
    assert answers.steps == [0, 1, 2]
    assert [message.reason for message in answers.of("ended")] == ["refused"]


def test_a_step_of_a_run_that_could_not_begin_is_not_made(qapp):
    worker, answers = asked(FakeBackend())
    worker.start(start(run_id=2))
    worker.advance(Advance(known(run_id=3, n_records=0), 3, 1))
    assert answers.steps == [0]
    assert [message.run_id for message in answers.of("idle")] == [2, 3]


def test_a_run_that_is_not_open_is_made_again_at_once_before_it_goes_on(qapp):
    worker, answers = asked(FakeBackend(first_wrong=2))
    worker.start(start(run_id=2))
    worker.advance(Advance(known(run_id=1, n_records=4, draft=FAULTY), 2, 1))
    (remade,) = answers.of("remade")
    assert (remade.run_id, remade.spec.faults) == (1, FAULTY.faults)
    assert [record.step for record in remade.records] == [0, 1, 2, 3]
    assert [verdict.is_wrong for verdict in remade.verdicts] == [False, False, True, True]
    assert len(remade.clean) == 4
    assert answers.steps == [0, 4, 5]


def test_a_run_that_is_made_ready_tells_nothing_but_itself(qapp):
    worker, answers = asked(FakeBackend(room=2))
    worker.advance(Advance(known(n_records=3), 0, 1))
    assert answers.names == ["ready", "remade", "idle"]
    assert answers.of("remade")[0].end == "refused"


def test_making_a_run_again_can_be_cancelled(qapp):
    again = known(n_records=100)
    backend = FakeBackend(before_step=lambda step: step == 5 and again.cancelled.set())
    worker, answers = asked(backend)
    worker.advance(Advance(again, 1, 1))
    assert answers.names == ["ready", "idle"]


def test_judging_is_cancelled_between_two_batches(qapp):
    request = start(n=300)
    worker, answers = asked(FakeBackend())
    worker.judged.connect(lambda message: request.cancelled.set())
    worker.start(request)
    (judged,) = answers.of("judged")
    assert 0 < len(judged.verdicts) < 300
    worker.judge_rest(known(n_records=300))
    judged = [v.step for message in answers.of("judged") for v in message.verdicts]
    assert judged == list(range(300))


def test_a_cancel_is_seen_between_two_steps(qapp):
    request = advance(100)
    cancelled = request.run.cancelled
    backend = FakeBackend(before_step=lambda step: step == 5 and cancelled.set())
    worker, answers = asked(backend)
    worker.start(start())
    worker.advance(request)
    assert answers.steps == [0, 1, 2, 3, 4, 5]
    assert [message.reason for message in answers.of("ended")] == ["cancelled"]
    assert answers.names[-1] == "idle"


def test_a_run_that_was_cancelled_can_go_on(qapp):
    request = advance(100)
    request.run.cancelled.set()
    worker, answers = asked(FakeBackend())
    worker.start(start())
    worker.advance(request)
    worker.advance(advance(1))
    assert answers.steps == [0, 1]


def test_a_start_cancelled_before_its_turn_begins_nothing(qapp):
    backend = FakeBackend()
    worker, answers = asked(backend)
    request = start()
    request.cancelled.set()
    worker.start(request)
    assert answers.names == ["ready", "idle"]
    assert backend.specs == []


def test_an_unusable_setting_is_told_with_its_place_and_the_open_run_goes_on(qapp):
    worker, answers = asked(FakeBackend())
    worker.start(start(run_id=1))
    worker.start(start(run_id=2, draft=Draft("missing", "ab")))
    failed = answers.of("failed")[0]
    assert (failed.run_id, failed.place, failed.details) == (2, "model", None)
    worker.advance(advance(1, run_id=1))
    assert answers.steps == [0, 1]


def test_a_fault_of_our_own_is_reported_with_its_trace_and_ends_nothing(qapp):
    def stumble(step: int) -> None:
        if step == 1:
            raise ZeroDivisionError("oh")

    backend = FakeBackend(before_step=stumble)
    worker, answers = asked(backend)
    worker.start(start(n=2))
    failed = answers.of("failed")[0]
    assert "ZeroDivisionError: oh" in failed.message
    assert "in stumble" in failed.details
    backend.before_step = lambda step: None
    worker.start(start(run_id=2, n=2))
    assert answers.names[-1] == "idle"
    assert answers.of("recorded")[-1].run_id == 2


def test_an_engine_that_cannot_be_made_is_reported(qapp):
    def broken() -> FakeBackend:
        raise ImportError("no torch")

    worker = Worker(broken)
    answers = Answers(worker)
    worker.load()
    assert "no torch" in answers.of("failed")[0].message


def test_verdicts_come_in_batches_while_playing(qapp):
    worker, answers = asked(FakeBackend())
    worker.start(start())
    for _ in range(4):
        worker.advance(advance(1, judge_every=2))
    batches = [[verdict.step for verdict in message.verdicts] for message in answers.of("judged")]
    assert batches == [[0], [1, 2], [3, 4]]


def test_the_rest_is_judged_when_asked(qapp):
    worker, answers = asked(FakeBackend())
    worker.start(start())
    worker.advance(advance(3, judge_every=10))
    worker.judge_rest(known())
    assert [verdict.step for verdict in answers.of("judged")[-1].verdicts] == [1, 2, 3]


@pytest.mark.parametrize(("draft", "n_clean"), [(DRAFT, 0), (FAULTY, 3)], ids=["clean", "faulty"])
def test_a_run_with_a_fault_is_accompanied_by_the_one_without(qapp, draft, n_clean):
    worker, answers = asked(FakeBackend())
    worker.start(start(draft=draft, n=3))
    clean = [record for message in answers.of("clean_recorded") for record in message.records]
    assert len(clean) == n_clean


def test_the_run_that_is_judged_has_the_fault(qapp):
    backend = FakeBackend(first_wrong=2)
    worker, answers = asked(backend)
    worker.start(start(draft=FAULTY, n=4))
    wrong = [v.is_wrong for message in answers.of("judged") for v in message.verdicts]
    assert wrong == [False, False, True, True]
    assert backend.specs[0].faults == FAULTY.faults


def test_a_script_is_run_after_the_prompt(qapp):
    backend = FakeBackend()
    worker, answers = asked(backend)
    worker.start(start(draft=Draft("learned", "ab", then=(Decode(), Decode())), n=None))
    assert answers.steps == [0, 1, 2]
    assert backend.specs[0].all_requests[1:] == (Decode(), Decode())


def test_a_run_that_is_not_open_is_made_again_to_be_saved(qapp, tmp_path):
    backend = FakeBackend()
    worker, answers = asked(backend)
    worker.start(start(run_id=3))
    worker.save(Save(known(3), tmp_path / "new.kvtrace", full=True))
    worker.save(Save(known(2, n_records=4), tmp_path / "old.kvtrace", full=False))
    assert backend.saved == [(tmp_path / "new.kvtrace", True), (tmp_path / "old.kvtrace", False)]
    assert [len(message.records) for message in answers.of("remade")] == [4]


@pytest.mark.parametrize("name", ["missing.kvtrace", "damaged.kvtrace"])
def test_what_is_wrong_with_a_file_is_told_with_its_name_and_no_place_in_the_form(qapp, name):
    worker, answers = asked(FakeBackend())
    worker.open(Path(name))
    (failed,) = answers.of("failed")
    assert failed.message.startswith(f"{name}: ")
    assert failed.message.count(name) == 1
    assert failed.place is None
