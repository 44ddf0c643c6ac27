import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SpecError
from core.outcome import OK, PositionLimit, Refused
from core.policy_oracle import PolicyOracle, PolicyRules
from core.spec import POLICY_NAMES

# Hand-made tables. Token ids are 100 + token index, so that a passage tells its tokens.


class Run:
    """An oracle and an engine that does what is expected of it, unless told otherwise."""

    def __init__(self, policy, capacity, **numbers):
        self.oracle = PolicyOracle(PolicyRules(policy, capacity, **numbers))
        self.n_read = 0

    def append(self, n, engine_accepted=True):
        token_ids = range(100 + self.n_read, 100 + self.n_read + n)
        self.n_read += n if engine_accepted else 0
        return self.oracle.append(token_ids, engine_accepted=engine_accepted)

    def rollback(self, n, engine_accepted=True):
        self.n_read -= min(n, self.n_read) if engine_accepted else 0
        return self.oracle.rollback(n, engine_accepted=engine_accepted)

    def passage(self, step):
        return self.oracle.passage(step.passage_id)


def facts(step):
    return (step.length, step.seen, step.position_ids, step.readable)


def tokens_of(passage):
    return [int(token_id) - 100 for token_id in passage.token_ids]


def test_refuse_reads_everything_before_and_fills_to_the_last_slot():
    run = Run("refuse", 4)
    assert facts(run.append(2)) == (2, 2, (0, 1), ((0,), (0, 1)))
    assert facts(run.append(1)) == (3, 3, (2,), ((0, 1, 2),))
    last = run.append(1)
    assert last.outcome == OK
    assert facts(last) == (4, 4, (3,), ((0, 1, 2, 3),))
    assert last.live == ((0, 0), (1, 1), (2, 2), (3, 3))


def test_a_full_cache_refuses_the_next_token_and_nothing_changes():
    run = Run("refuse", 2)
    run.append(2)
    step = run.append(1, engine_accepted=False)
    assert step.outcome == Refused(needed=1, free=0)
    assert facts(step) == (2, 2, (), ())
    assert step.live == ((0, 0), (1, 1))
    assert step.row is None


def test_a_chunk_that_does_not_fit_is_refused_whole():
    run = Run("refuse", 4)
    run.append(3)
    step = run.append(2, engine_accepted=False)
    assert step.outcome == Refused(needed=2, free=1)
    assert facts(run.append(1)) == (4, 4, (3,), ((0, 1, 2, 3),))


def test_a_window_counts_the_query_and_drops_the_oldest():
    run = Run("window", 3)
    assert facts(run.append(2)) == (2, 2, (0, 1), ((0,), (0, 1)))
    assert facts(run.append(1)) == (3, 3, (2,), ((0, 1, 2),))
    step = run.append(1)
    assert facts(step) == (3, 4, (3,), ((1, 2, 3),))
    assert step.live == ((1, 1), (2, 2), (3, 3))


def test_a_chunk_longer_than_the_window_reads_old_rows_before_they_leave():
    run = Run("window", 3)
    run.append(2)
    step = run.append(5)
    readable = ((0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6))
    assert facts(step) == (3, 7, (2, 3, 4, 5, 6), readable)
    assert step.live == ((4, 4), (5, 5), (6, 6))


def test_a_window_of_one_reads_the_query_alone():
    run = Run("window", 1)
    assert facts(run.append(2)) == (1, 2, (0, 1), ((0,), (1,)))
    assert facts(run.append(1)) == (1, 3, (2,), ((2,),))


def test_sinks_stay_and_positions_are_kept():
    run = Run("sinks", 4, sinks=1)
    step = run.append(6)
    readable = ((0,), (0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 2, 3, 4), (0, 3, 4, 5))
    assert facts(step) == (4, 6, (0, 1, 2, 3, 4, 5), readable)
    assert step.live == ((0, 0), (3, 3), (4, 4), (5, 5))


def test_reassigned_positions_are_ranks_among_the_tokens_read():
    run = Run("sinks", 4, sinks=1, reassign_positions=True)
    step = run.append(6)
    assert step.position_ids == (0, 1, 2, 3, 3, 3)
    assert step.live == ((0, 0), (3, 1), (4, 2), (5, 3))
    passage = run.passage(step)
    assert passage.position_ids.tolist() == [0, 1, 2, 3, 3, 3]
    ranks = np.where(passage.readable, passage.key_position_ids, -1)
    assert ranks.tolist() == [
        [0, -1, -1, -1, -1, -1],
        [0, 1, -1, -1, -1, -1],
        [0, 1, 2, -1, -1, -1],
        [0, 1, 2, 3, -1, -1],
        [0, -1, 1, 2, 3, -1],
        [0, -1, -1, 1, 2, 3],
    ]


def test_reprefill_reads_the_last_tokens_again_from_position_0():
    run = Run("reprefill", 3)
    assert facts(run.append(3)) == (3, 3, (0, 1, 2), ((0,), (0, 1), (0, 1, 2)))
    step = run.append(1)
    assert facts(step) == (3, 4, (2,), ((1, 2, 3),))
    assert step.live == ((1, 0), (2, 1), (3, 2))
    assert step.recomputed == 2
    assert tokens_of(run.passage(step)) == [1, 2, 3]
    assert run.passage(step).position_ids.tolist() == [0, 1, 2]


def test_reprefill_of_a_long_chunk_leaves_out_what_falls_out_at_once():
    run = Run("reprefill", 3)
    run.append(2)
    step = run.append(5)
    nothing = ()
    readable = (nothing, nothing, (4,), (4, 5), (4, 5, 6))
    assert facts(step) == (3, 7, (None, None, 0, 1, 2), readable)
    assert step.recomputed == 0
    assert tokens_of(run.passage(step)) == [4, 5, 6]
    assert step.row == 2


def test_reprefill_reads_nothing_again_while_there_is_room():
    run = Run("reprefill", 4)
    first = run.append(2)
    second = run.append(2)
    assert (first.recomputed, second.recomputed) == (0, 0)
    assert first.passage_id == second.passage_id
    assert (first.row, second.row) == (1, 3)
    third = run.append(2)
    assert third.recomputed == 2
    assert third.passage_id != second.passage_id
    assert tokens_of(run.passage(second)) == [0, 1, 2, 3]
    assert tokens_of(run.passage(third)) == [2, 3, 4, 5]


def test_reprefill_goes_on_from_the_kept_tokens_after_a_rollback():
    run = Run("reprefill", 4)
    run.append(6)
    step = run.rollback(2)
    assert (step.outcome, step.length, step.seen) == (OK, 2, 4)
    assert step.live == ((2, 0), (3, 1))
    step = run.append(1)
    assert facts(step) == (3, 5, (2,), ((2, 3, 4),))
    assert tokens_of(run.passage(step)) == [2, 3, 4]
    assert step.row == 2


@pytest.mark.parametrize(
    ("n_read", "n", "outcome"),
    [
        pytest.param(6, 3, OK, id="one held token stays"),
        pytest.param(6, 4, Refused(needed=2, free=0), id="none stays"),
        pytest.param(9, 5, Refused(needed=3, free=0), id="a token that fell out is the newest"),
        pytest.param(6, 6, OK, id="a text taken back whole needs no row"),
        pytest.param(4, 4, OK, id="nothing ever left"),
        pytest.param(6, 0, OK, id="nothing is taken back"),
        pytest.param(4, 5, Refused(needed=5, free=4), id="more than was read"),
    ],
)
def test_rollback_under_reprefill(n_read, n, outcome):
    run = Run("reprefill", 4)
    run.append(n_read)
    assert run.rollback(n, engine_accepted=outcome == OK).outcome == outcome


def test_reprefill_with_one_slot_starts_at_position_0_after_any_rollback():
    run = Run("reprefill", 1)
    run.append(9)
    step = run.rollback(5)
    assert (step.outcome, step.length, step.seen) == (OK, 0, 4)
    step = run.append(1)
    assert facts(step) == (1, 5, (0,), ((4,),))
    assert tokens_of(run.passage(step)) == [4]


def test_reprefill_starts_at_position_0_after_the_whole_text_was_taken_back():
    run = Run("reprefill", 3)
    run.append(7)
    run.rollback(7)
    step = run.append(2)
    assert facts(step) == (2, 2, (0, 1), ((0,), (0, 1)))
    assert tokens_of(run.passage(step)) == [0, 1]


@pytest.mark.parametrize(
    ("policy", "sinks", "n_read", "n", "outcome", "live"),
    [
        ("refuse", 0, 6, 4, OK, (0, 1)),
        ("refuse", 0, 6, 6, OK, ()),
        ("refuse", 0, 6, 7, Refused(7, 6), (0, 1, 2, 3, 4, 5)),
        ("window", 0, 9, 0, OK, (5, 6, 7, 8)),
        ("window", 0, 9, 1, OK, (5, 6, 7)),
        ("window", 0, 9, 2, Refused(3, 2), (5, 6, 7, 8)),
        ("window", 0, 9, 9, OK, ()),
        ("window", 0, 4, 2, OK, (0, 1)),
        ("window", 0, 5, 2, Refused(3, 2), (1, 2, 3, 4)),
        ("sinks", 2, 9, 1, OK, (0, 1, 7)),
        ("sinks", 2, 9, 2, Refused(3, 2), (0, 1, 7, 8)),
        ("sinks", 2, 9, 7, OK, (0, 1)),
        ("sinks", 2, 9, 8, OK, (0,)),
        ("sinks", 3, 9, 4, OK, (0, 1, 2)),
        ("sinks", 3, 9, 6, OK, (0, 1, 2)),
        ("sinks", 1, 4, 1, OK, (0, 1, 2)),
    ],
)
def test_a_rollback_is_right_if_the_next_query_finds_all_it_may_read(
    policy, sinks, n_read, n, outcome, live
):
    run = Run(policy, 6 if policy == "refuse" else 4, sinks=sinks)
    run.append(n_read)
    step = run.rollback(n, engine_accepted=outcome == OK)
    assert step.outcome == outcome
    assert tuple(token for token, _ in step.live) == live
    assert step.length == len(live)
    assert step.seen == (n_read - n if outcome == OK else n_read)
    assert facts(step)[2:] == ((), ())


def test_after_a_rollback_a_new_passage_begins_with_the_kept_tokens():
    run = Run("window", 4)
    before = run.append(6)
    run.rollback(1)
    after = run.oracle.append([999], engine_accepted=True)
    assert facts(after) == (4, 6, (5,), ((2, 3, 4, 5),))
    assert run.passage(after).token_ids.tolist() == [100, 101, 102, 103, 104, 999]
    assert run.passage(before).token_ids.tolist() == [100, 101, 102, 103, 104, 105]
    assert (before.row, after.row) == (5, 5)


def test_a_window_rolled_back_by_one_is_one_row_short_until_it_fills_again():
    run = Run("window", 4)
    run.append(9)
    assert run.rollback(1).length == 3
    assert run.rollback(1, engine_accepted=False).outcome == Refused(3, 2)
    assert run.append(1).length == 4
    assert run.append(1).length == 4


@pytest.mark.parametrize("policy", ["refuse", "window", "reprefill", "sinks"])
def test_an_append_of_no_tokens_changes_nothing(policy):
    run = Run(policy, 4)
    run.append(4 if policy == "refuse" else 9)
    before = run.rollback(1)
    step = run.append(0)
    assert step.outcome == OK
    assert facts(step) == (3, before.seen, (), ())
    assert step.live == before.live
    assert (step.row, step.recomputed) == (None, 0)


def test_a_window_of_one_can_be_rolled_back_to_anywhere():
    run = Run("window", 1)
    run.append(9)
    step = run.rollback(5)
    assert (step.outcome, step.length, step.seen) == (OK, 0, 4)
    assert facts(run.append(1)) == (1, 5, (4,), ((4,),))


def test_a_new_prompt_starts_from_an_empty_cache():
    run = Run("window", 3)
    old = run.append(5)
    run.oracle.new_prompt()
    step = run.oracle.append([7, 8], engine_accepted=True)
    assert facts(step) == (2, 2, (0, 1), ((0,), (0, 1)))
    assert run.passage(step).token_ids.tolist() == [7, 8]
    assert tokens_of(run.passage(old)) == [0, 1, 2, 3, 4]


# Where the engine disagrees


def test_tokens_that_the_engine_refused_by_mistake_count_as_never_read():
    run = Run("refuse", 4)
    run.append(2)
    step = run.append(1, engine_accepted=False)
    assert step.outcome == OK
    assert facts(step) == (3, 3, (2,), ((0, 1, 2),))
    assert step.row is None
    step = run.oracle.append([50], engine_accepted=True)
    assert facts(step) == (3, 3, (2,), ((0, 1, 2),))
    assert run.passage(step).token_ids.tolist() == [100, 101, 50]


def test_tokens_that_the_engine_took_by_mistake_are_read_from_the_next_step_on():
    run = Run("refuse", 2)
    run.append(2)
    step = run.append(1)
    assert step.outcome == Refused(1, 0)
    assert facts(step) == (2, 2, (), ())
    assert step.row == 2
    step = run.append(1)
    assert step.outcome == Refused(1, 0)
    assert facts(step) == (3, 3, (), ())
    passage = run.passage(step)
    assert tokens_of(passage) == [0, 1, 2, 3]
    assert passage.readable[step.row].tolist() == [True, True, True, True]


def test_a_rollback_that_the_engine_refused_by_mistake_leaves_the_text():
    run = Run("refuse", 4)
    first = run.append(3)
    step = run.rollback(2, engine_accepted=False)
    assert (step.outcome, step.length, step.seen) == (OK, 1, 1)
    step = run.append(1)
    assert facts(step) == (4, 4, (3,), ((0, 1, 2, 3),))
    assert step.passage_id == first.passage_id


def test_a_rollback_that_the_engine_took_by_mistake_goes_on_as_if_the_rows_were_held():
    run = Run("window", 4)
    run.append(9)
    step = run.rollback(4)
    assert step.outcome == Refused(needed=3, free=0)
    assert (step.length, step.seen) == (4, 9)
    step = run.append(1)
    assert facts(step) == (4, 6, (5,), ((2, 3, 4, 5),))
    assert tokens_of(run.passage(step)) == [0, 1, 2, 3, 4, 5]


def test_a_rollback_past_the_beginning_that_the_engine_took_empties_the_text():
    run = Run("refuse", 4)
    run.append(2)
    assert run.rollback(5).outcome == Refused(needed=5, free=2)
    assert facts(run.append(1)) == (1, 1, (0,), ((0,),))


# Probes


def probe(run, n_k, n_v, engine_accepted=True):
    keys, values = np.ones((1, 1, n_k, 2)), np.ones((1, 1, n_v, 2))
    return run.oracle.probe(n_k, n_v, engine_accepted=engine_accepted, keys=keys, values=values)


def test_the_rows_of_a_probe_take_room_and_are_read_but_hold_no_token():
    run = Run("refuse", 4)
    run.append(1)
    step = probe(run, 2, 2)
    assert step.outcome == OK
    assert facts(step) == (3, 1, (), ())
    assert step.live == ((0, 0),)
    step = run.append(1)
    assert facts(step) == (4, 2, (1,), ((0, 1),))
    loose = run.passage(step).loose
    assert [(rows.keys.shape[2], rows.first_reader) for rows in loose] == [(2, 1)]
    assert run.append(1, engine_accepted=False).outcome == Refused(1, 0)


@pytest.mark.parametrize(("n_k", "n_v"), [(2, 1), (1, 2)])
def test_an_uneven_probe_is_refused_and_leaves_nothing_even_if_the_engine_takes_it(n_k, n_v):
    run = Run("refuse", 4)
    run.append(1)
    step = probe(run, n_k, n_v)
    assert step.outcome == Refused(needed=2, free=3)
    assert facts(step) == (1, 1, (), ())
    step = run.append(1)
    assert facts(step) == (2, 2, (1,), ((0, 1),))
    assert run.passage(step).loose == ()


def test_a_probe_without_room_is_refused():
    run = Run("refuse", 2)
    run.append(1)
    assert probe(run, 2, 2, engine_accepted=False).outcome == Refused(needed=2, free=1)
    assert run.append(1).length == 2


def test_a_probe_that_the_engine_took_without_room_is_held_and_read():
    run = Run("refuse", 2)
    run.append(1)
    assert probe(run, 2, 2).outcome == Refused(needed=2, free=1)
    step = run.append(1)
    assert step.outcome == Refused(needed=1, free=0)
    assert step.length == 3
    assert len(run.passage(step).loose) == 1


def test_a_rollback_drops_the_rows_of_probes_after_the_cut():
    run = Run("refuse", 9)
    run.append(2)
    probe(run, 1, 1)
    run.append(2)
    probe(run, 2, 2)
    before = run.append(1)
    assert len(run.passage(before).loose) == 2
    step = run.rollback(2)
    assert (step.length, step.seen) == (4, 3)
    assert [rows.first_reader for rows in run.passage(step).loose] == [2]
    assert len(run.passage(before).loose) == 2
    assert run.rollback(1).length == 3
    assert run.rollback(1).length == 1


def test_a_probe_needs_the_policy_refuse():
    with pytest.raises(SpecError, match="refuse"):
        Run("window", 2).oracle.probe(1, 1, engine_accepted=True)


# Positions that the model does not have


def test_the_first_token_past_the_position_table_is_not_read():
    run = Run("window", 2, position_limit=3)
    assert run.append(3).outcome == OK
    step = run.append(1, engine_accepted=False)
    assert step.outcome == PositionLimit(3)
    assert facts(step) == (2, 3, (), ())


def test_a_chunk_that_would_pass_the_position_table_is_not_read_at_all():
    run = Run("window", 2, position_limit=3)
    run.append(2)
    step = run.append(2, engine_accepted=False)
    assert (step.outcome, step.seen) == (PositionLimit(3), 2)


def test_room_is_looked_at_before_the_position_table():
    run = Run("refuse", 3, position_limit=3)
    run.append(3)
    assert run.append(1, engine_accepted=False).outcome == Refused(1, 0)


def test_reprefill_never_reaches_the_end_of_the_position_table():
    run = Run("reprefill", 3, position_limit=3)
    assert all(run.append(1).outcome == OK for _ in range(9))


def test_a_token_past_the_position_table_that_the_engine_took_has_no_reference():
    run = Run("refuse", 6, position_limit=2)
    run.append(2)
    step = run.append(1)
    assert (step.outcome, step.row) == (PositionLimit(2), None)
    assert tokens_of(run.passage(step)) == [0, 1]
    step = run.append(1)
    assert (step.outcome, step.row, step.seen) == (PositionLimit(2), None, 3)
    run.rollback(3)
    step = run.append(1)
    assert (step.outcome, step.row) == (OK, 1)
    assert tokens_of(run.passage(step)) == [0, 1]


@pytest.mark.parametrize(("capacity", "sinks"), [(0, 0), (-1, 0), (3, 3), (3, -1)])
def test_numbers_that_leave_no_slot_are_an_error(capacity, sinks):
    with pytest.raises(SpecError):
        PolicyRules("sinks", capacity, sinks)


# A second implementation: a cache as a list, one token at a time.


class ListCache:
    """Token indices in a list; "loose" stands for a row without a token."""

    def __init__(self, rules):
        self.rules = rules
        self.held = []
        self.seen = 0

    def read(self, held, token):
        """What is held when `token` is read, itself included, and nothing refuses."""
        held = list(held)
        is_bounded = self.rules.policy in ("window", "sinks")
        if is_bounded and len(held) == self.rules.capacity:
            held.remove(min(held_ for held_ in held if held_ >= self.rules.sinks))
        return [*held, token]

    def read_from_scratch(self, n):
        held = []
        for token in range(n):
            held = self.read(held, token)
        return held

    def append(self, n):
        """(outcome, held after, position ids, readable)."""
        rules, new = self.rules, range(self.seen, self.seen + n)
        if rules.policy == "refuse" and len(self.held) + n > rules.capacity:
            free = max(0, rules.capacity - len(self.held))
            return Refused(n, free), self.held, (), ()
        if rules.policy == "reprefill":
            return self.append_with_reprefill(new)
        held, readable = self.held, []
        for token in new:
            held = self.read(held, token)
            readable.append(tuple(row for row in held if row != "loose"))
        position_ids = new
        if rules.reassign_positions:
            position_ids = [len(tokens) - 1 for tokens in readable]
        return OK, held, tuple(position_ids), tuple(readable)

    def append_with_reprefill(self, new):
        held = [*self.held, *new]
        if len(held) > self.rules.capacity:
            held = held[-self.rules.capacity :]
        position_ids = tuple(held.index(token) if token in held else None for token in new)
        readable = tuple(
            tuple(held[: held.index(token) + 1]) if token in held else () for token in new
        )
        return OK, held, position_ids, readable

    def rollback(self, n):
        """(outcome, held after)."""
        if n > self.seen:
            return Refused(n, self.seen), self.held
        target = self.seen - n
        if self.rules.policy != "reprefill":
            needed = self.read_from_scratch(target + 1)[:-1]
        elif self.held and self.held[0] < target:
            needed = self.held[: self.held.index(target - 1) + 1]
        else:
            needed = [token for token in range(target) if token > target - self.rules.capacity]
        if not set(needed) <= set(self.held):
            return Refused(len(needed), len(set(needed) & set(self.held))), self.held
        kept = []
        for row in self.held:
            if row != "loose" and row >= target:
                break
            kept.append(row)
        return OK, kept

    def commit(self, held, seen):
        self.held, self.seen = held, seen

    def live(self, held):
        tokens = [row for row in held if row != "loose"]
        if self.rules.reassign_positions or self.rules.policy == "reprefill":
            return tuple((token, rank) for rank, token in enumerate(tokens))
        return tuple((token, token) for token in tokens)


@st.composite
def rules(draw):
    policy = draw(st.sampled_from(["refuse", "window", "reprefill", "sinks"]))
    capacity = draw(st.integers(1, 8))
    if policy != "sinks":
        return PolicyRules(policy, capacity)
    return PolicyRules(policy, capacity, draw(st.integers(0, capacity - 1)), draw(st.booleans()))


appends = st.tuples(st.just("append"), st.integers(0, 12))
rollbacks = st.tuples(st.just("rollback"), st.integers(0, 12))
probes = st.tuples(st.just("probe"), st.integers(0, 3))
new_prompts = st.tuples(st.just("new_prompt"), st.just(0))
requests = st.lists(
    st.one_of(appends, appends, appends, rollbacks, probes, new_prompts), max_size=20
)


def check_passage(oracle, step, text):
    """The passage's row is the last token, and reads what the step says it may read."""
    passage = oracle.passage(step.passage_id)
    assert passage.token_ids[step.row] == text[-1]
    read = passage.token_ids[passage.readable[step.row]]
    assert read.tolist() == [text[token] for token in step.readable[-1]]
    assert passage.position_ids[step.row] == step.position_ids[-1]
    if passage.key_position_ids is not None:
        ranks = passage.key_position_ids[step.row][passage.readable[step.row]]
        assert ranks.tolist() == list(range(len(read)))


@given(rules(), requests)
def test_it_agrees_with_a_cache_kept_as_a_list(rules, requests):
    oracle, cache, text = PolicyOracle(rules), ListCache(rules), []
    next_id = 0
    for kind, n in requests:
        if kind == "append":
            outcome, held, position_ids, readable = cache.append(n)
            token_ids = list(range(next_id, next_id + n))
            next_id += n
            is_ok = outcome == OK
            step = oracle.append(token_ids, engine_accepted=is_ok)
            again = set(held) & set(range(cache.seen))
            is_new_pass = rules.policy == "reprefill" and held[:1] != cache.held[:1]
            assert step.recomputed == (len(again) if is_new_pass and cache.held else 0)
            cache.commit(held, cache.seen + (n if is_ok else 0))
            text += token_ids if is_ok else []
            assert (step.position_ids, step.readable) == (position_ids, readable)
            if is_ok and n:
                check_passage(oracle, step, text)
        elif kind == "rollback":
            outcome, held = cache.rollback(n)
            is_ok = outcome == OK
            step = oracle.rollback(n, engine_accepted=is_ok)
            cache.commit(held, cache.seen - (n if is_ok else 0))
            text = text[: cache.seen]
        elif kind == "probe":
            if rules.policy != "refuse":
                continue
            is_ok = len(cache.held) + n <= rules.capacity
            outcome = OK if is_ok else Refused(n, rules.capacity - len(cache.held))
            step = oracle.probe(n, n, engine_accepted=is_ok)
            cache.commit(cache.held + ["loose"] * (n if is_ok else 0), cache.seen)
        else:
            oracle.new_prompt()
            cache.commit([], 0)
            text = []
            continue
        assert step.outcome == outcome
        assert step.seen == cache.seen
        assert step.length == len(cache.held)
        assert step.live == cache.live(cache.held)


def all_tokens(rules, chunks):
    oracle = PolicyOracle(rules)
    steps = [oracle.append(range(n), engine_accepted=True) for n in chunks]
    position_ids = [position_id for step in steps for position_id in step.position_ids]
    return position_ids, [tokens for step in steps for tokens in step.readable], steps[-1]


@given(
    rules().filter(lambda rules: rules.policy in ("window", "sinks")),
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
)
def test_a_token_reads_the_same_however_the_text_is_cut_into_chunks(rules, chunks):
    in_chunks, whole = all_tokens(rules, chunks), all_tokens(rules, [sum(chunks)])
    assert in_chunks[:2] == whole[:2]
    assert in_chunks[2].live == whole[2].live


@given(rules(), st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_a_token_reads_itself_and_at_most_as_many_as_there_are_slots(rules, chunks):
    oracle, seen = PolicyOracle(rules), 0
    for n in chunks:
        is_refused = rules.policy == "refuse" and seen + n > rules.capacity
        step = oracle.append(range(n), engine_accepted=not is_refused)
        for token, (position_id, tokens) in enumerate(
            zip(step.position_ids, step.readable, strict=True), start=seen
        ):
            assert (token in tokens) == (position_id is not None)
            assert len(tokens) <= rules.capacity
        seen += 0 if is_refused else n
        assert step.seen == seen
        assert step.length == min(seen, rules.capacity) == len(step.live)
        assert [token for token, _ in step.live] == sorted({token for token, _ in step.live})


@given(rules(), requests, st.data())
def test_whatever_the_engine_does_the_oracle_goes_on_with_what_was_read(rules, requests, data):
    """Accepted or not is drawn: lengths stay counts of the text, a row holds the last token."""
    oracle, text = PolicyOracle(rules), []
    next_id = 0
    for kind, n in requests:
        engine_accepted = data.draw(st.booleans())
        if kind == "append":
            token_ids = list(range(next_id, next_id + n))
            next_id += n
            step = oracle.append(token_ids, engine_accepted=engine_accepted)
            should_be = len(text) + (n if step.outcome == OK else 0)
            text += token_ids if engine_accepted else []
            if engine_accepted and n:
                passage = oracle.passage(step.passage_id)
                assert passage.token_ids[step.row] == text[-1]
                if step.outcome == OK:
                    check_passage(oracle, step, text)
        elif kind == "rollback":
            step = oracle.rollback(n, engine_accepted=engine_accepted)
            should_be = len(text) - (n if step.outcome == OK else 0)
            text = text[: max(0, len(text) - n)] if engine_accepted else text
        else:
            continue
        assert step.seen == should_be


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_every_policy_can_be_judged_by_a_rule_of_its_own(policy):
    expected = PolicyOracle(PolicyRules(policy, 4)).append((1, 2), engine_accepted=True)
    assert expected.outcome == OK


def test_a_policy_without_a_rule_is_an_error_and_never_a_green_light():
    with pytest.raises(KeyError):
        PolicyOracle(PolicyRules("the newest idea", 4))


# Drafts, a common prefix, padding


def test_verified_drafts_count_as_far_as_they_are_kept():
    run = Run("refuse", 9)
    run.append(3)
    step = run.oracle.verify([103, 104, 105, 106], 2, engine_accepted=True)
    assert step.outcome == OK
    assert (step.length, step.seen, step.position_ids) == (5, 5, (3, 4, 5, 6))
    assert step.readable == tuple(tuple(range(n)) for n in (4, 5, 6, 7))
    assert step.live == tuple((token, token) for token in range(5))
    # The passage still holds the rejected drafts; the row is that of the last one kept.
    assert (tokens_of(run.passage(step)), step.row) == ([0, 1, 2, 3, 4, 5, 6], 4)
    after = run.oracle.append([205], engine_accepted=True)
    assert (after.length, after.position_ids) == (6, (5,))
    assert tokens_of(run.passage(after)) == [0, 1, 2, 3, 4, 105]


def test_drafts_need_room_before_any_is_rejected():
    run = Run("refuse", 6)
    run.append(4)
    step = run.oracle.verify([104, 105, 106], 2, engine_accepted=False)
    assert step.outcome == Refused(needed=3, free=2)
    assert (step.length, step.seen, step.position_ids, step.row) == (4, 4, (), None)


def test_drafts_that_the_engine_should_have_taken_count_as_never_read():
    run = Run("refuse", 9)
    run.append(3)
    step = run.oracle.verify([103, 104], 1, engine_accepted=False)
    assert (step.outcome, step.length, step.seen) == (OK, 4, 4)
    assert run.append(1).position_ids == (3,)


@pytest.mark.parametrize(
    ("prompt_ids", "to_read", "position_ids"),
    [
        pytest.param([100, 101, 102, 107], (107,), (3,), id="a longer prefix"),
        pytest.param([100, 101, 102], (102,), (2,), id="all of it: the last token is read"),
        pytest.param([100, 101], (101,), (1,), id="a part of the old text"),
        pytest.param([100, 102, 101], (102, 101), (1, 2), id="one token in common"),
        pytest.param([101, 100], (101, 100), (0, 1), id="nothing in common"),
        pytest.param([100], (100,), (0,), id="one token: it is read"),
    ],
)
def test_what_a_new_prompt_shares_with_the_old_text_is_not_read_again(
    prompt_ids, to_read, position_ids
):
    run = Run("refuse", 9)
    run.append(5)
    assert run.oracle.reuse(prompt_ids) == to_read
    step = run.oracle.append(to_read, engine_accepted=True)
    assert step.position_ids == position_ids
    assert (step.length, step.seen) == (len(prompt_ids), len(prompt_ids))
    assert run.passage(step).token_ids.tolist() == prompt_ids
    assert step.row == len(prompt_ids) - 1


def test_padding_takes_room_and_is_neither_seen_nor_read():
    run = Run("refuse", 8)
    step = run.oracle.append([100, 101, 102], engine_accepted=True, n_pads=2)
    assert (step.length, step.seen, step.position_ids) == (5, 3, (0, 1, 2))
    assert step.readable == ((0,), (0, 1), (0, 1, 2))
    assert (step.n_pads, step.n_loose) == (2, 0)
    run.n_read = 3
    assert run.append(3).length == 8
    full = run.append(1, engine_accepted=False)
    assert full.outcome == Refused(needed=1, free=0)
    assert run.rollback(6).length == 2


def test_padding_that_does_not_fit_is_refused_with_its_prompt():
    step = Run("refuse", 4).oracle.append([100, 101, 102], engine_accepted=False, n_pads=2)
    assert step.outcome == Refused(needed=5, free=4)
    assert step.length == 0
