"""Labs: questions about this model on this machine, answered by measuring. One file per lab.

Importing them needs no torch, so that they can be listed while the model loads.
"""

from playground.experiments.kv_cache import KV_CACHE
from playground.experiments.lab import Lab

_ALL: tuple[Lab, ...] = (KV_CACHE,)
LABS = {lab.name: lab for lab in _ALL}

__all__ = ["LABS", "Lab"]
