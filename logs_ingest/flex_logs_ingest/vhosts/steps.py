"""What a file of a web server says about virtual hosts, one step after another.

Only values. Does not read a file: nginx_steps.py and apache_steps.py do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# The block of one virtual host, in each of the two languages.
HOST_BLOCKS = ("server", "virtualhost")
# Blocks of nginx in which a server is none of HTTP.
OTHER_PROTOCOLS = ("mail", "stream")


@dataclass(frozen=True, slots=True)
class Step:
    """`opens` and `closes` are about a block, whose word is the first of `words`. `name` is the
    host's main name, `names` are names beside it. `root` is where its files are, `log` what it
    writes each request to. `includes` has the patterns of other files.
    """

    kind: Literal["opens", "closes", "name", "names", "root", "log", "includes"]
    words: tuple[str, ...]
    line: int
