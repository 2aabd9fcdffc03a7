"""Where FLEX keeps what it must remember."""

from flex.store.holder_process_has_ended import holder
from flex.store.memory import MemoryStore
from flex.store.sql_store import SqlStore, open_store

__all__ = ["MemoryStore", "SqlStore", "holder", "open_store"]
