"""Keeps root from making files that the account of FLEX's services could not open.

Takes the path of a file or folder that is to be made. Raises an error that says how to do it as
that account, or returns nothing. Does not look at files that are there already.
"""

from __future__ import annotations

import os
import pwd
import shlex
import sys
from pathlib import Path

from flex.errors import BadInput

# The account that the units run FLEX as.
ACCOUNT = "flex"


def refuse_root(path: Path) -> None:
    """Raises BadInput where this is root, and the folder in which it is made is the account's."""
    if os.geteuid() or path.exists():
        return
    folder = next((parent for parent in path.absolute().parents if parent.exists()), Path("/"))
    try:
        is_its_own = folder.stat().st_uid == pwd.getpwnam(ACCOUNT).pw_uid
    except KeyError:
        return
    if not is_its_own:
        return
    program, *words = sys.argv
    raise BadInput(
        f"making {path} as root",
        f"{folder} is the folder of the account {ACCOUNT}, which runs FLEX's services and could "
        "not open what root makes there",
        kept="nothing was made",
        advice=f"do it as that account: `runuser -u {ACCOUNT} -- "
        f"{shlex.join([Path(program).name, *words])}`",
    )
