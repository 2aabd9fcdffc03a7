"""Where FLEX keeps what it must remember. Each store is loaded when somebody asks for it."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flex.store.lease_holder import holder
    from flex.store.memory import MemoryStore
    from flex.store.sql_store import Store, open_store

__all__ = ["MemoryStore", "Store", "holder", "open_store"]

_MODULES = {
    "MemoryStore": "memory",
    "Store": "sql_store",
    "holder": "lease_holder",
    "open_store": "sql_store",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"flex.store.{_MODULES[name]}"), name)
