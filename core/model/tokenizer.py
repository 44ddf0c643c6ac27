"""Text to token ids and back, and what a single token looks like."""

import json
from functools import cache
from typing import cast

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from core.errors import ModelError, SpecError

_SPACE = "·"
_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_FIRST_STAND_IN = 256


class Tokenizer:
    """A tokenizer.json, read once."""

    def __init__(self, json_text: str, eos_token_id: int | None) -> None:
        """Takes the text of a tokenizer.json and the id that ends a text, if there is one.

        Raises:
            ModelError: the text is no tokenizer.
        """
        self._tokenizer = _parsed(json_text)
        self._json_text = json_text
        self._eos_token_id = eos_token_id
        self._is_byte_level = _has_byte_level_decoder(json_text)
        ids = self._tokenizer.get_vocab(with_added_tokens=True).values()
        self._vocab_size = max(ids, default=-1) + 1

    @property
    def json_text(self) -> str:
        """The tokenizer.json it was made from."""
        return self._json_text

    @property
    def vocab_size(self) -> int:
        """One more than the highest token id."""
        return self._vocab_size

    @property
    def eos_token_id(self) -> int | None:
        """The id that ends a text."""
        return self._eos_token_id

    def encode(self, text: str) -> tuple[int, ...]:
        """Token ids of a text, with what the tokenizer puts around every text (such as a start).

        Raises:
            SpecError: the text holds half of a surrogate pair, which is no character.
        """
        for place, character in enumerate(text):
            if "\ud800" <= character <= "\udfff":
                raise SpecError(
                    f"U+{ord(character):04X} at character {place} of the text is half of a "
                    "surrogate pair, not a character; leave it out",
                    field="prompt_ids",
                )
        return tuple(self._tokenizer.encode(text).ids)

    def decode(self, token_ids: tuple[int, ...] | list[int]) -> str:
        """The text of token ids; bytes that are no text become U+FFFD, unknown ids nothing."""
        return self._tokenizer.decode(list(token_ids), skip_special_tokens=False)

    def token(self, token_id: int) -> str | None:
        """The token as tokenizer.json spells it; None for an id that it does not have."""
        return self._tokenizer.id_to_token(token_id)

    def token_text(self, token_id: int) -> str:
        """What one token shows as: spaces as a middle dot, line ends escaped, lone bytes <0xNN>."""
        token = self.token(token_id)
        if token is None:
            return f"<id {token_id}>"
        if self._is_byte_level:
            return _bytes_shown(token)
        return _shown(token.replace("▁", " "))


def byte_tokenizer_json() -> str:
    """A tokenizer.json in which token id n is the byte n, so that any text can be written."""
    vocabulary = {character: byte for byte, character in enumerate(_byte_characters())}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer.to_str()


def _parsed(json_text: str) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(json_text)
    except Exception as error:  # the library raises plain Exception for every fault of the text
        reason = " ".join(str(error).split())
        raise ModelError(f"tokenizer.json is no tokenizer ({reason}); save it again") from error


def _has_byte_level_decoder(json_text: str) -> bool:
    """Whether tokens are spelt in the stand-in characters of the byte-level scheme."""
    decoder = cast("dict[str, object]", json.loads(json_text)).get("decoder")
    return '"ByteLevel"' in json.dumps(decoder)


@cache
def _byte_characters() -> tuple[str, ...]:
    """The character that stands for each byte: itself where it prints, else one from U+0100 on."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    characters: list[str] = []
    n_stand_ins = 0
    for byte in range(256):
        if byte in printing:
            characters.append(chr(byte))
        else:
            characters.append(chr(_FIRST_STAND_IN + n_stand_ins))
            n_stand_ins += 1
    return tuple(characters)


@cache
def _byte_of_character() -> dict[str, int]:
    return {character: byte for byte, character in enumerate(_byte_characters())}


def _bytes_shown(token: str) -> str:
    """A token spelt in stand-ins, as text; added tokens are spelt as they are."""
    byte_of = _byte_of_character()
    if any(character not in byte_of for character in token):
        return _shown(token)
    raw = bytes(byte_of[character] for character in token)
    return _shown(raw.decode("utf-8", errors="surrogateescape"))


def _shown(text: str) -> str:
    return "".join(_character_shown(character) for character in text)


def _character_shown(character: str) -> str:
    """One character that can be seen; a surrogate stands for a byte that is no text."""
    code = ord(character)
    if character == " ":
        return _SPACE
    if character in _CONTROL:
        return _CONTROL[character]
    if 0xDC80 <= code <= 0xDCFF:
        return f"<0x{code - 0xDC00:02X}>"
    if not character.isprintable():
        return f"<0x{code:02X}>" if code < 0x80 else f"<U+{code:04X}>"
    return character
