"""Every setting of the kernel: its key, type, default and what it does.

One table, a module a category; the settings registry, ``homed.toml``, the environment, the page's form and
``docs/config.md`` all read it.  Names of keys are imported from here, wherever they are defined.
"""

from __future__ import annotations

from homed.config.definitions.agent import *
from homed.config.definitions.agent import AGENT
from homed.config.definitions.daemon import *
from homed.config.definitions.daemon import DAEMON
from homed.config.definitions.files import *
from homed.config.definitions.files import FILES
from homed.config.definitions.host import *
from homed.config.definitions.host import HOST
from homed.config.definitions.limits import *
from homed.config.definitions.limits import LIMITS
from homed.config.definitions.memory import *
from homed.config.definitions.memory import MEMORY
from homed.config.definitions.models import *
from homed.config.definitions.models import MODELS
from homed.config.definitions.shape import TYPES as TYPES
from homed.config.definitions.shape import Definition as Definition
from homed.config.definitions.shape import Seed as Seed
from homed.config.definitions.spend import *
from homed.config.definitions.spend import SPEND
from homed.config.definitions.textlog import *
from homed.config.definitions.textlog import LOGGING
from homed.config.definitions.tracker import *
from homed.config.definitions.tracker import CHANGES

CORE: tuple[Definition, ...] = AGENT + LIMITS + FILES + MEMORY + MODELS + SPEND + CHANGES + LOGGING + HOST + DAEMON

SEEDS: dict[str, Seed] = {definition.key: definition.seed for definition in CORE if definition.seed}
