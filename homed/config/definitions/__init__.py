"""Every setting of the kernel: its key, type, default and what it does.

One table, a module a category; the settings registry, ``homed.toml``, the environment, the page's form and
``docs/config.md`` all read it.  Names of keys are imported from here, wherever they are defined.
"""

from __future__ import annotations

from homed.config.definitions.agent import *
from homed.config.definitions.agent import AGENT
from homed.config.definitions.daemon import *
from homed.config.definitions.daemon import DAEMON
from homed.config.definitions.memory import *
from homed.config.definitions.memory import MEMORY
from homed.config.definitions.models import *
from homed.config.definitions.models import MODELS
from homed.config.definitions.shape import TYPES as TYPES
from homed.config.definitions.shape import Definition as Definition
from homed.config.definitions.shape import Seed as Seed
from homed.config.definitions.spend import *
from homed.config.definitions.spend import SPEND

CORE: tuple[Definition, ...] = AGENT + MEMORY + MODELS + SPEND + DAEMON

SEEDS: dict[str, Seed] = {definition.key: definition.seed for definition in CORE if definition.seed}
