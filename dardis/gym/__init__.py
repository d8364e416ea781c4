"""Gymnasium environments over the simulation: `dardis/Queue-v0` and `dardis/Power-v0`.

The import registers both (docs/gym.md).
"""

from dardis.model.errors import InputError

try:
    import gymnasium
except ImportError:
    raise InputError("dardis.gym", "gymnasium is not installed", "pip install 'dardis[gym]'") from None

gymnasium.register("dardis/Queue-v0", "dardis.gym.queue_env:QueueEnv")
gymnasium.register("dardis/Power-v0", "dardis.gym.power_env:PowerEnv")
