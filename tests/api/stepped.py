"""`flex` that stops itself at a step: `python stepped.py FILE BEGIN END WORDS...`.

A step is a call of a function of FLEX. Steps are counted once the function called BEGIN is entered
while FILE is there, which says at which step to stop; FILE is gone then. Stopped, the process waits
as by SIGSTOP for whoever kills it or lets it go on. Once END is entered, or the process ends,
nothing is counted any more, and FILE.steps says how many steps there were.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from pathlib import Path
from types import CodeType, FrameType

from flex_api.cli import main

# Folders of functions that act. What makes a plan is as before it, whoever is killed there.
COUNTED = ("/night/", "/planning/", "/store/", "/flex_dns/", "/flex/routing/")


class Steps:
    def __init__(self, file: Path, begin: str, end: str) -> None:
        self.file, self.begin, self.end = file, begin, end
        self.left = self.taken = 0
        self.counts: dict[CodeType, bool] = {}

    def called(self, frame: FrameType, *_: object) -> None:
        code = frame.f_code
        counts = self.counts.get(code)
        if counts is None:
            counts = not code.co_name.startswith("<") and any(
                folder in code.co_filename for folder in COUNTED
            )
            self.counts[code] = counts
        if not counts:
            return
        if not self.taken:
            if code.co_name != self.begin or not self.file.exists():
                return
            self.left = int(self.file.read_text(encoding="ascii"))
            self.file.unlink()
        elif code.co_name == self.end:
            self.note()
            return
        self.taken += 1
        if self.taken == self.left:
            os.kill(os.getpid(), signal.SIGSTOP)

    def note(self) -> None:
        if self.taken:
            steps = self.file.with_name(f"{self.file.name}.steps")
            steps.write_text(str(self.taken), encoding="ascii")
        self.taken = 0


if __name__ == "__main__":
    steps = Steps(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
    atexit.register(steps.note)
    del sys.argv[1:4]
    sys.settrace(steps.called)
    main()
