"""What Alembic runs to migrate: the connection comes from flex.store.migrate, which also owns the
transaction.
"""

from __future__ import annotations

from alembic import context

from flex.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
