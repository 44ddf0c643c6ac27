import pytest
import torch

from core.arrays import as_ids
from core.engine.rows import LayerRows, RowStore, is_run, selection
from core.engine.types import are_same

CPU = torch.device("cpu")


def _rows(n_rows=6):
    return LayerRows(torch.zeros(n_rows, 2, 2, 3))


def _new(n, start):
    keys = torch.arange(2.0 * n * 3).reshape(2, n, 3) + start
    return keys, -keys


@pytest.mark.parametrize("rows", [[0, 1, 2], [3, 4], [5], []])
def test_rows_that_follow_one_another_are_read_without_a_copy(rows):
    buffer = _rows()
    buffer.kv.copy_(torch.randn(2, 2, 6, 3))
    chosen = selection(as_ids(rows), CPU)
    assert isinstance(chosen, slice)
    assert torch.equal(buffer.read(chosen), buffer.kv[:, :, rows])


def test_a_buffer_in_the_middle_of_larger_memory_is_read_where_it_lies():
    memory = torch.randn(9, 2, 4, 3)
    buffer = LayerRows(memory[2:8, :, 1:3])
    read = buffer.read(selection(as_ids([1, 2, 3]), CPU))
    assert torch.equal(read, memory[3:6, :, 1:3].permute(1, 2, 0, 3))


@pytest.mark.parametrize("rows", [[0, 2], [2, 1, 0], [3, 3], [5, 0, 1]])
def test_other_rows_are_read_in_the_order_asked_for(rows):
    buffer = _rows()
    buffer.kv.copy_(torch.randn(2, 2, 6, 3))
    assert torch.equal(buffer.read(selection(as_ids(rows), CPU)), buffer.kv[:, :, rows])


@pytest.mark.parametrize("numbers", [[], [0], [7], [0, 1, 2], [4, 5]])
def test_numbers_that_count_up_by_one_are_a_run(numbers):
    assert is_run(as_ids(numbers))


@pytest.mark.parametrize("numbers", [[0, 2], [1, 0], [3, 3], [0, 1, 3], [1, 2, 0]])
def test_other_numbers_are_no_run(numbers):
    assert not is_run(as_ids(numbers))


@pytest.mark.parametrize("others", [[], [0, 1], [0, 1, 3], [2, 1, 0], [0, 1, 2, 3]])
def test_lists_of_other_numbers_are_not_the_same(others):
    assert are_same(as_ids([0, 1, 2]), as_ids([0, 1, 2]))
    assert not are_same(as_ids([0, 1, 2]), as_ids(others))


def test_rows_past_the_end_of_the_buffer_are_lost():
    buffer = _rows(n_rows=3)
    keys, values = _new(3, 1)
    buffer.write(as_ids([2, 3, 9]), keys, values)
    assert torch.equal(buffer.kv[0, :, 2], keys[:, 0])
    assert int((buffer.kv != 0).any(3).sum()) == 4
    one_key, one_value = _new(1, 1)
    buffer.write(as_ids([3]), one_key, one_value)
    buffer.borrow(7, keys[:, 0], values[:, 0])
    buffer.read(slice(0, 3))
    assert int((buffer.kv != 0).any(3).sum()) == 4


def test_fewer_values_than_keys_leave_the_last_value_rows_unwritten():
    buffer = _rows()
    keys, values = _new(3, 1)
    buffer.write(as_ids([1, 2, 3]), keys, values[:, :2])
    assert torch.equal(buffer.kv[0, :, 1:4], keys)
    assert torch.equal(buffer.kv[1, :, 1:3], values[:, :2])
    assert not buffer.kv[1, :, 3].any()


def test_a_borrowed_row_shows_what_its_owner_writes_later():
    buffer = _rows()
    keys, values = _new(1, 1)
    buffer.borrow(2, keys[:, 0], values[:, 0])
    keys.fill_(7)
    values.fill_(8)
    read = buffer.read(slice(2, 3))
    assert (read[0] == 7).all()
    assert (read[1] == 8).all()


def test_a_row_that_is_written_is_borrowed_no_longer():
    buffer = _rows()
    keys, values = _new(1, 1)
    buffer.borrow(2, keys[:, 0], values[:, 0])
    own_keys, own_values = _new(1, 50)
    buffer.write(as_ids([2]), own_keys, own_values)
    keys.fill_(7)
    assert torch.equal(buffer.read(slice(2, 3))[0], own_keys)


def test_each_layer_has_memory_of_its_own():
    store = RowStore.allocate(3, 2, 5, 4, torch.empty(0, dtype=torch.float64))
    assert store.n_rows == 5
    assert all(rows.kv.shape == (2, 2, 5, 4) for rows in store.layers)
    store.layers[0].kv.fill_(1)
    assert not store.layers[1].kv.any()
    assert not store.layers[2].kv.any()
    assert store.layers[0].kv.dtype == torch.float64


def test_keys_and_values_do_not_share_memory():
    buffer = _rows()
    keys, values = _new(2, 1)
    buffer.write(as_ids([0, 1]), keys, values)
    assert torch.equal(buffer.read(slice(0, 2)), torch.stack((keys, values)))
