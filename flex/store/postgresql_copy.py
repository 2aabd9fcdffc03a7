"""A copy of a PostgreSQL database, made by PostgreSQL's own `pg_dump`.

Takes the database's URL and a path. The copy appears whole or not at all, and `pg_restore` takes
it. Does not show the password of the URL to other users of this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from sqlalchemy import URL

from flex.errors import BadInput

# Seconds that a connection may take to come about. A guess.
CONNECT_SECONDS = 10


def backup(url: URL, path: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise _no_copy(url, "PostgreSQL is copied by its own tools, and pg_dump is not here")
    if path.exists():
        raise _no_copy(url, f"{path} exists already")
    part = path.with_name(f"{path.name}.part")
    try:
        with tempfile.TemporaryDirectory(prefix="flex-pg-") as folder:
            _dump(program, url, part, Path(folder))
            part.replace(path)
    except OSError as error:
        raise _no_copy(url, f"{path} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _dump(program: str, url: URL, part: Path, folder: Path) -> None:
    os.close(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
    ended = subprocess.run(  # noqa: S603 - no shell, and no option can stand in a URL
        [
            *(program, "--format=custom", "--no-password"),
            *(f"--file={part}", f"--dbname={_address(url, folder)}"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        lines = ended.stderr.strip().splitlines() or ["it says nothing"]
        raise _no_copy(url, f"pg_dump ended with {ended.returncode}: {lines[0][:300]}")


def _address(url: URL, folder: Path) -> str:
    """A command line is there for all to read: the password is in a file of this user's."""
    more = {"connect_timeout": str(CONNECT_SECONDS)}
    if url.password is not None:
        passwords = folder / "passwords"
        safe = str(url.password).replace("\\", "\\\\").replace(":", "\\:")
        passwords.write_text(f"*:*:*:*:{safe}\n", encoding="utf-8")
        passwords.chmod(0o600)
        more["passfile"] = str(passwords)
    bare = URL.create(
        "postgresql",
        url.username,
        host=url.host,
        port=url.port,
        database=url.database,
        query=url.query,
    )
    return bare.update_query_dict(more).render_as_string(hide_password=False)


def _no_copy(url: URL, answer: str) -> BadInput:
    return BadInput(
        f"a copy of the database {url.database}",
        answer,
        kept="nothing was written",
        advice="install postgresql-client, choose a new name for the copy, or run "
        f"`pg_dump --format=custom --file=flex.dump {url.database}` yourself",
    )
