"""A small model whose rows a class can be given: a built-in one, or one of the class's sizes."""

from dataclasses import replace

from core.contract.calls import Sizes
from core.contract.decode_model import SmallModel
from core.contract.decode_sizes import sizes_taken
from core.contract.plan import Plan
from core.contract.subject import Subject
from core.errors import CoreError, ModelError
from core.model.config import ModelConfig

MOST_LAYERS, MOST_NUMBERS = 8, 1024
"""Of a model that is made: layers, and numbers of a row of all its heads; more takes minutes."""


class NoModelError(CoreError):
    """No model has the sizes that a class takes; the message says which."""


def fitting_model(subject: Subject, plan: Plan, name: str) -> tuple[SmallModel, Sizes]:
    """A model like the one of this name whose rows the class can be given, and its sizes.

    The class's own sizes are those that were given by hand, those that its adapter says, and those
    that it takes and no others.

    Raises:
        NoModelError: there is none.
    """
    model = SmallModel.load(name)
    config = model.config
    fixed = plan.surface.fixed
    d = fixed.get("d_k", fixed.get("d_v", config.d_head))
    wanted = {"d_k": d, "d_v": d}
    if plan.has_heads:
        wanted["n_heads"] = config.n_kv_heads
    if plan.surface.takes_layer:
        wanted["n_layers"] = config.n_layers
    sizes = sizes_taken(subject, plan, plan.sizes(1, **wanted))
    if sizes.d_k != sizes.d_v or sizes.batch != 1:
        raise NoModelError(
            f"{name}: keys and values of one size, of one text, are what it has; the class has "
            f"d_k = {sizes.d_k}, d_v = {sizes.d_v} and {sizes.batch} "
            f"text{'s' * (sizes.batch != 1)}"
        )
    own = _shape(plan, config, sizes)
    return (model if own == config else SmallModel.random(own)), sizes


def _shape(plan: Plan, config: ModelConfig, sizes: Sizes) -> ModelConfig:
    """Of a model with these sizes."""
    n_kv_heads = sizes.n_heads if plan.has_heads else config.n_kv_heads
    n_layers = sizes.n_layers if plan.surface.takes_layer else config.n_layers
    shape = (n_layers, n_kv_heads, sizes.d_k)
    if shape == (config.n_layers, config.n_kv_heads, config.d_head):
        return config
    name = f"{config.name} of {n_layers} layers, {n_kv_heads} KV heads, d = {sizes.d_k}"
    if n_layers > MOST_LAYERS or n_kv_heads * sizes.d_k > MOST_NUMBERS:
        raise NoModelError(
            f"{name}: models are made up to {MOST_LAYERS} layers, and {MOST_NUMBERS} numbers of a "
            "row in all heads"
        )
    try:
        return replace(
            config,
            name=name,
            n_layers=n_layers,
            n_kv_heads=n_kv_heads,
            n_heads=n_kv_heads * config.n_rep,
            d_head=sizes.d_k,
        )
    except ModelError as error:
        raise NoModelError(str(error)) from error
