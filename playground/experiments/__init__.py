"""Labs: questions about this model on this machine, answered by measuring. One file per lab.

Importing them needs no torch, so that they can be listed while the model loads.
"""

from playground.experiments.context import CONTEXT
from playground.experiments.cost import COST
from playground.experiments.determinism import DETERMINISM
from playground.experiments.frozen import FROZEN
from playground.experiments.kv_cache import KV_CACHE
from playground.experiments.lab import Lab
from playground.experiments.one_bad_token import ONE_BAD_TOKEN
from playground.experiments.prefill_decode import PREFILL_DECODE
from playground.experiments.speed import SPEED
from playground.experiments.stopping import STOPPING
from playground.experiments.template import TEMPLATE

_ALL: tuple[Lab, ...] = (
    KV_CACHE, PREFILL_DECODE, SPEED, COST, TEMPLATE, STOPPING, CONTEXT, ONE_BAD_TOKEN, DETERMINISM, FROZEN,
)  # fmt: skip
LABS = {lab.name: lab for lab in _ALL}

__all__ = ["LABS", "Lab"]
