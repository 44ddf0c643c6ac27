"""What a single token shows as, from the tokenizer's JSON alone: the library is not imported."""

import json
from collections.abc import Iterator
from functools import cache
from typing import cast

from core.errors import ModelError

_SPACE = "·"
_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_FIRST_STAND_IN = 256


class TokenTexts:
    """The tokens of a tokenizer.json, so that a run can be shown before the library is there."""

    def __init__(self, json_text: str) -> None:
        """Takes the text of a tokenizer.json.

        Raises:
            ModelError: its tokens are not there, or not by name.
        """
        try:
            self._tokens = dict(_tokens(json.loads(json_text)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"the tokens of tokenizer.json cannot be read ({reason})") from error
        self._is_byte_level = has_byte_level_decoder(json_text)

    def token_text(self, token_id: int) -> str:
        """As `Tokenizer.token_text`."""
        return token_text(token_id, self._tokens.get(token_id), is_byte_level=self._is_byte_level)


def _tokens(tokenizer: dict[str, dict[str, object]]) -> Iterator[tuple[int, str]]:
    """Token ids with their tokens; the added ones come last and take the place of others."""
    for token, token_id in cast("dict[str, int]", tokenizer["model"]["vocab"]).items():
        yield token_id, token
    for added in cast("list[dict[str, object]]", tokenizer.get("added_tokens") or []):
        yield cast("int", added["id"]), cast("str", added["content"])


def token_text(token_id: int, token: str | None, *, is_byte_level: bool) -> str:
    """What a token shows as: spaces as a middle dot, line ends escaped, lone bytes <0xNN>.

    Args:
        token_id: its number.
        token: as tokenizer.json spells it; None: it has none of this number.
        is_byte_level: whether that is in the stand-in characters of the byte-level scheme.
    """
    if token is None:
        return f"<id {token_id}>"
    return _bytes_shown(token) if is_byte_level else _shown(token.replace("▁", " "))


def has_byte_level_decoder(json_text: str) -> bool:
    """Whether tokens are spelt in the stand-in characters of the byte-level scheme."""
    decoder = cast("dict[str, object]", json.loads(json_text)).get("decoder")
    return '"ByteLevel"' in json.dumps(decoder)


@cache
def byte_characters() -> tuple[str, ...]:
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
    return {character: byte for byte, character in enumerate(byte_characters())}


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
