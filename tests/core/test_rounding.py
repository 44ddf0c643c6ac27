"""Up to where an error may be rounding."""

import numpy as np

from core.noise import PassageNoise
from core.rounding import Rounding, Stand

BANDS = np.array([1.0, 1.0, 1.0])


def noise_of(values: float | list[float], logits: float = 0.0) -> PassageNoise:
    """Two layers of three rows; layer 1 is ten times as noisy as layer 0."""
    rows = np.broadcast_to(np.array(values, dtype=float), (3,))
    layers = {
        name: np.stack([rows, 10 * rows]) for name in ("keys", "values", "residual")
    }  # fmt: skip
    return PassageNoise(2, np.array([logits]), layers)


def stand(noise: PassageNoise, first: int = 0, last: int = 2) -> Stand:
    return Stand(noise, first, last, 2)


def limits(rounding: Rounding, step: int, off_by: float, layer: int = 0, name: str = "keys"):
    return rounding.limits(step, name, layer, BANDS, np.full(3, off_by)).tolist()


def test_the_band_holds_where_the_noise_is_below_a_fourth_of_it():
    rounding = Rounding(2)
    rounding.follow([stand(noise_of(0.2))])
    assert limits(rounding, 0, 0.5) == [1.0, 1.0, 1.0]
    assert limits(rounding, 0, 5.0) == [1.0, 1.0, 1.0]


def test_above_that_it_is_four_times_the_noise_of_the_same_layer_and_tensor():
    rounding = Rounding(2)
    rounding.follow([stand(noise_of(0.5, logits=7.0))])
    assert limits(rounding, 0, 0.5) == [2.0, 2.0, 2.0]
    assert limits(rounding, 0, 0.5, layer=1) == [20.0, 20.0, 20.0]
    assert limits(rounding, 0, 0.5, name="logits") == [28.0, 28.0, 28.0]


def test_it_is_the_largest_up_to_the_step_and_rows_after_it_do_not_count():
    rounding = Rounding(2)
    rising = noise_of([0.5, 2.0, 9.0])
    rounding.follow([stand(rising, 0, 0)])
    rounding.follow([stand(rising, 1, 1)])
    rounding.follow([stand(noise_of(0.1))])
    assert [limits(rounding, step, 0.0)[0] for step in range(3)] == [2.0, 8.0, 8.0]


def test_a_step_that_is_off_by_more_is_looked_at_more_closely():
    rounding, asked = Rounding(2), []
    rounding.follow([stand(noise_of(0.5))])
    rounding.follow([stand(noise_of(0.5))])

    def look_closer(step: int) -> list[Stand]:
        asked.append(step)
        return [stand(noise_of(3.0))]

    rounding.look_closer = look_closer
    assert limits(rounding, 1, 2.0)[0] == 2.0
    assert asked == []
    assert limits(rounding, 1, 2.1)[0] == 12.0
    assert limits(rounding, 1, 11.0, layer=1)[0] == 120.0
    assert asked == [1]
    assert rounding.was_close(1)
    assert not rounding.was_close(0)
    assert limits(rounding, 0, 1.0)[0] == 2.0


def test_what_no_rounding_explains_is_not_looked_at_more_closely():
    rounding = Rounding(2)
    rounding.follow([stand(noise_of(0.5))])
    rounding.look_closer = lambda step: [stand(noise_of(3.0))]
    assert limits(rounding, 0, 1e9)[0] == 2.0
    assert not rounding.was_close(0)


def test_rows_are_compared_step_by_step():
    rounding = Rounding(2)
    rounding.follow([stand(noise_of(0.5))])
    rounding.follow([stand(noise_of(1.0))])
    bands, off_by = np.ones(4), np.array([1.9, 2.1, 3.9, 4.1])
    found = rounding.exceeded([(0, 2), (1, 2)], "values", 0, bands, off_by)
    assert found.tolist() == [False, True, False, True]


def test_where_the_number_type_overflows_nothing_is_off_in_that_step_alone():
    rounding = Rounding(2)
    rounding.follow([stand(noise_of([0.5, np.inf, 0.5]), 0, 1)])
    rounding.follow([stand(noise_of([0.5, np.inf, 0.5]), 2, 2)])
    no_number = np.array([np.nan])
    found = [rounding.exceeded([(step, 1)], "keys", 0, np.ones(1), no_number) for step in (0, 1)]
    assert [one.tolist() for one in found] == [[False], [True]]
    assert limits(rounding, 1, 0.0)[0] == 2.0
