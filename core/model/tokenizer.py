"""Text to token ids and back, and what a single token looks like."""

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from core.errors import ModelError, SpecError
from core.model.token_text import byte_characters, has_byte_level_decoder, token_text


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
        self._is_byte_level = has_byte_level_decoder(json_text)
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
        return token_text(token_id, self.token(token_id), is_byte_level=self._is_byte_level)


def byte_tokenizer_json() -> str:
    """A tokenizer.json in which token id n is the byte n, so that any text can be written."""
    vocabulary = {character: byte for byte, character in enumerate(byte_characters())}
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
