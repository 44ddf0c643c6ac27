"""Whether the logits of a model without a cache can be compared with anything."""

from core.contract.model.subject import Uncached
from core.contract.model.verdict import Bands
from core.contract.subject import NotDrivableError

N_NAMED = 8


def must_be_comparable(uncached: Uncached, bands: Bands) -> None:
    """Whether they are numbers, not all 0, and the same each time.

    Raises:
        NotDrivableError: they are not.
    """
    if not uncached.has_numbers:
        raise NotDrivableError(
            "without a cache no logit is a number (all are NaN or infinite), so nothing can be "
            "compared; look for NaN in the weights"
        )
    if uncached.largest == 0:
        raise NotDrivableError(
            "every logit is 0, so nothing can be compared; give the model weights, such as random "
            "ones for its head"
        )
    if uncached.unrest > bands.wrong:
        raise NotDrivableError(
            f"two forwards without a cache over the same text differ by {uncached.unrest:.2g}, so "
            "nothing can be compared; switch off what is random"
        )


def no_numbers(uncached: Uncached) -> str:
    """The token ids whose logits are NaN, of a model that decodes as without a cache."""
    ids = uncached.nan_ids
    named = ", ".join(map(str, ids[:N_NAMED]))
    more = f" and {len(ids) - N_NAMED} more" if len(ids) > N_NAMED else ""
    return f"logits that are no numbers in both ways: token{'s' * (len(ids) > 1)} {named}{more}"
