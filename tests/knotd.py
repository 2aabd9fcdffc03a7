"""A private Knot DNS on loopback, gone with its block."""

from __future__ import annotations

import shutil
import subprocess
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from flex_dns.private.find_named import SYSTEM_PATH
from flex_dns.private.private_named import LOOPBACK

UP = "server started"


def found(program: str) -> str:
    return shutil.which(program) or shutil.which(program, path=SYSTEM_PATH) or ""


def written(folder: Path, port: int, text: str) -> Path:
    """The whole of a configuration, of which `text` is the part that is tried. Zone files are in
    the folder.
    """
    (folder / "db").mkdir(exist_ok=True)
    path = folder / "knot.conf"
    path.write_text(
        f"server:\n  rundir: {folder}\n  listen: {LOOPBACK}@{port}\n"
        f"log:\n  - target: stdout\n    any: info\ndatabase:\n  storage: {folder}/db\n"
        f"template:\n  - id: default\n    storage: {folder}\n{text}",
        encoding="utf-8",
    )
    return path


def checked(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [found("knotc"), "-c", str(path), "conf-check"], capture_output=True, text=True, check=False
    )


@contextmanager
def running(path: Path) -> Iterator[None]:
    with subprocess.Popen(
        [found("knotd"), "-c", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            said = []
            for line in server.stdout:
                said.append(line)
                if UP in line:
                    break
            else:
                raise AssertionError("".join(said))
            # A full pipe would stop the server.
            reader = Thread(target=deque, args=(server.stdout, 0))
            reader.start()
            try:
                yield
            finally:
                server.terminate()
                reader.join()
        finally:
            server.terminate()
