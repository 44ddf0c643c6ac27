"""The tokenizer of the small world: one token for each word, bytes for everything else."""

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from resources.training.grammar import PUNCTUATION, world_words

END_OF_TEXT = "<|endoftext|>"
BYTE_TOKEN_IDS = range(1, 257)


def build_tokenizer() -> Tokenizer:
    """Build the byte-level tokenizer.

    Ids: the end-of-text token, the 256 bytes, then each word of the world with a space before it,
    then each without.
    """
    spaced = [f"Ġ{word}" for word in world_words()]
    tokens = dict.fromkeys([END_OF_TEXT, *sorted(ByteLevel.alphabet()), *spaced, *world_words()])
    vocab = {token: token_id for token_id, token in enumerate(tokens)}
    tokenizer = Tokenizer(BPE(vocab=vocab, merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens([END_OF_TEXT])
    return tokenizer


class WordIds:
    """Token ids of story words: what encoding the story's text gives, without the text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Look up every world word once."""
        words = (*world_words(), *PUNCTUATION)
        self.end_of_text = _one_id(tokenizer, END_OF_TEXT)
        self.first = {word: _one_id(tokenizer, word) for word in words}
        self.inner = {
            word: _one_id(tokenizer, word if word in PUNCTUATION else f" {word}") for word in words
        }

    def encode(self, words: tuple[str, ...], *, is_start: bool = True) -> list[int]:
        """Token ids of the words; at the start of a text the first one has no space before it."""
        first = self.first if is_start else self.inner
        return [first[words[0]], *(self.inner[word] for word in words[1:])]


def _one_id(tokenizer: Tokenizer, text: str) -> int:
    token_ids = tokenizer.encode(text).ids
    if len(token_ids) != 1:
        raise ValueError(f"{text!r} is {len(token_ids)} tokens, not one")
    return token_ids[0]
