"""Text to token ids and back, and what one token looks like."""

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, pre_tokenizers

from core.errors import ModelError, SpecError
from core.model.token_text import TokenTexts
from core.model.tokenizer import Tokenizer, byte_tokenizer_json
from resources import resource_path

BYTES = Tokenizer(byte_tokenizer_json(), None)


@given(st.text())
def test_any_text_comes_back_from_its_bytes(text: str) -> None:
    token_ids = BYTES.encode(text)

    assert token_ids == tuple(text.encode())
    assert BYTES.decode(token_ids) == text


@given(st.binary())
def test_any_bytes_decode_as_python_decodes_them(raw: bytes) -> None:
    assert BYTES.decode(list(raw)) == raw.decode(errors="replace")


@pytest.mark.parametrize(
    ("byte", "shown"),
    [
        (0x41, "A"),
        (0x20, "·"),
        (0x0A, "\\n"),
        (0x0D, "\\r"),
        (0x09, "\\t"),
        (0x00, "<0x00>"),
        (0x7F, "<0x7F>"),
        (0xC3, "<0xC3>"),
        (0xFF, "<0xFF>"),
        (0x5C, "\\"),
    ],
)
def test_a_byte_shows_as_its_character_or_its_number(byte: int, shown: str) -> None:
    assert BYTES.token_text(byte) == shown


@given(st.integers(0, 255))
def test_what_a_token_shows_can_be_seen(token_id: int) -> None:
    shown = BYTES.token_text(token_id)

    assert shown.isprintable()
    assert shown.strip() == shown != ""


def shipped() -> list[str]:
    return [path.read_text("utf-8") for path in resource_path("models").glob("*/tokenizer.json")]


@pytest.mark.parametrize("json_text", [*shipped(), byte_tokenizer_json()])
def test_tokens_show_the_same_whether_the_library_reads_them_or_only_the_json(
    json_text: str,
) -> None:
    library, alone = Tokenizer(json_text, None), TokenTexts(json_text)

    ids = range(library.vocab_size + 2)
    assert [alone.token_text(n) for n in ids] == [library.token_text(n) for n in ids]


@pytest.mark.parametrize("json_text", ["meow", "[]", '{"model": {}}', '{"model": {"vocab": [1]}}'])
def test_a_json_without_named_tokens_is_told_as_such(json_text: str) -> None:
    with pytest.raises(ModelError, match=r"tokens of tokenizer\.json cannot be read"):
        TokenTexts(json_text)


def test_an_id_beyond_the_vocabulary_shows_as_a_number() -> None:
    assert BYTES.token_text(256) == "<id 256>"
    assert BYTES.token(256) is None


def test_the_byte_vocabulary_has_256_ids_and_no_end() -> None:
    assert BYTES.vocab_size == 256
    assert BYTES.eos_token_id is None


def _words(decoder: object, vocabulary: dict[str, int]) -> Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="?"))  # noqa: S106
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    if decoder is not None:
        tokenizer.decoder = decoder
    return Tokenizer(tokenizer.to_str(), 0)


def test_the_space_mark_of_sentencepiece_shows_as_a_space() -> None:
    words = _words(decoders.Metaspace(), {"?": 0, "▁Tom": 1, "▁": 2, "<0xC3>": 3})

    assert [words.token_text(token_id) for token_id in range(4)] == ["?", "·Tom", "·", "<0xC3>"]


def test_a_word_that_only_looks_like_byte_characters_shows_as_it_is() -> None:
    words = _words(None, {"?": 0, "Ġé": 1})

    assert words.token_text(1) == "Ġé"


def test_byte_characters_are_undone_where_they_are_used() -> None:
    words = _words(decoders.ByteLevel(), {"?": 0, "ĠTom": 1, "Ã©": 2, "Ã": 3, "<日>": 4})

    shown = [words.token_text(token_id) for token_id in range(5)]

    assert shown == ["?", "·Tom", "é", "<0xC3>", "<日>"]


def test_the_vocabulary_ends_at_the_highest_id_even_with_gaps() -> None:
    assert _words(None, {"?": 0, "far": 41}).vocab_size == 42


def test_the_end_of_text_id_is_the_one_given() -> None:
    assert _words(None, {"?": 0}).eos_token_id == 0


def test_the_end_of_a_text_is_decoded_like_any_token() -> None:
    tokenizer = tokenizers.Tokenizer.from_str(byte_tokenizer_json())
    tokenizer.add_special_tokens(["<end>"])
    with_end = Tokenizer(tokenizer.to_str(), 256)

    assert with_end.decode((65, 256)) == "A<end>"
    assert with_end.token_text(256) == "<end>"


def test_half_a_surrogate_pair_is_refused_with_its_place() -> None:
    with pytest.raises(SpecError, match=r"U\+DC80 at character 2 of the text"):
        BYTES.encode("ab\udc80c")


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "null", '{"model": {"type": "none"}}'])
def test_a_text_that_is_no_tokenizer_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(
        ModelError, match=r"^tokenizer\.json is no tokenizer \(.*\); save it again$"
    ):
        Tokenizer(text, None)
