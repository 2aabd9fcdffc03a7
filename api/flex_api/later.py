"""Packages that take long to load, and much memory, put off until something is asked of them: most verbs never do.

Reading logs in particular has to fit beside them into little memory. Whoever imports a package that was put off gets
what stands for it; its first attribute brings the package itself.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType

_LOADING = RLock()


class _Later(ModuleType):
    def __getattr__(self, attribute: str) -> object:
        package = _loaded(self)
        self.__dict__.update(package.__dict__)
        return getattr(package, attribute)


def put_off(*names: str) -> None:
    """Those of them that are there and not loaded yet."""
    for name in names:
        if name not in sys.modules and find_spec(name):
            sys.modules[name] = _Later(name)


def _loaded(later: _Later) -> ModuleType:
    name = later.__name__
    with _LOADING:
        if sys.modules.get(name) is later:
            del sys.modules[name]
        return import_module(name)
