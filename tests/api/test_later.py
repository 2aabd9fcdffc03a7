"""Packages that are put off: whoever imports them gets them, and a run that needs none of them
loads none.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flex import native_or_python

without_native = pytest.mark.skipif(
    native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT
)

pytestmark = pytest.mark.real

LINE = (
    b'h%d.example 192.0.2.1 - - [02/Mar/2026:12:00:00 +0000] "GET /%d%s HTTP/1.1" 200 100 "-" "-"\n'
)


def said(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    ).stdout.strip()


def test_what_is_put_off_is_itself_as_soon_as_something_is_asked_of_it() -> None:
    program = (
        "import flex_api, sys, pandas as pd; before = sys.modules['pandas']; "
        "frame = pd.DataFrame({'a': [1]});"
    )
    program += (
        "import pandas; print(before is pd, pandas.DataFrame is pd.DataFrame, "
        "type(frame) is pandas.DataFrame)"
    )
    assert said(program) == "True True True"


def test_who_asks_every_module_for_its_file_loads_none() -> None:
    program = (
        "import flex_api, sys, pandas; from flex_api.night import nightly; "
        "before = len(sys.modules); "
        "files = [getattr(one, '__file__', None) for one in (pandas, nightly)]; "
        "print(len(sys.modules) == before, *(str(one).endswith('.py') for one in files)); "
        "nightly.propose; print(files[1] == nightly.__file__, len(sys.modules) > before)"
    )
    assert said(program) == "True True True\nTrue True"


def test_a_part_of_what_is_put_off_can_be_imported() -> None:
    assert (
        said("import flex_api; from pandas.testing import assert_frame_equal; print('there')")
        == "there"
    )


def test_a_part_comes_once_where_its_package_comes_for_it() -> None:
    program = "import flex_api, numpy.linalg as part; from flex_api.cli.common import Context; "
    program += "import numpy, flex_api.cli; "
    program += "print(numpy.linalg is part, flex_api.cli.Context is Context)"
    assert said(program) == "True True"


def test_who_had_it_before_it_was_loaded_has_what_others_load_and_change() -> None:
    program = "from flex_api.night import leases as before; "
    program += "from flex_api.night.leases import lease; import flex_api.night.leases as behind; "
    program += "behind.lease = 1; print(before is behind, before.lease, lease.__name__)"
    assert said(program) == "True 1 lease"


def test_a_module_that_is_not_there_is_missed_where_it_is_imported_or_used() -> None:
    program = "import sys, flex_api\n"
    program += "from flex_api.lazy_imports import put_off; put_off('not_there')\n"
    program += "import not_there\n"
    program += "for _ in 'twice', 'more':\n"
    program += "    try: not_there.anything\n"
    program += "    except ModuleNotFoundError as error: print(error.name)"
    assert said(program) == "not_there\nnot_there"


def test_several_threads_may_ask_first() -> None:
    program = "import flex_api, pandas as pd; from concurrent.futures import ThreadPoolExecutor\n"
    program += (
        "print(len({id(kind) for kind in ThreadPoolExecutor(8).map(lambda _: "
        "pd.DataFrame, range(64))}))"
    )
    assert said(program) == "1"


@pytest.mark.torture("python")
@pytest.mark.slow("python", "native")
@pytest.mark.parametrize("loops", ["python", pytest.param("native", marks=without_native)])
def test_reading_logs_takes_no_more_memory_than_promised_whatever_is_in_them(
    loops: str, tmp_path: Path
) -> None:
    logs = [tmp_path / f"{number}.log" for number in range(2)]
    for number, log in enumerate(logs):
        lines = range(number * 120_000, (number + 1) * 120_000)
        log.write_bytes(b"".join(LINE % (i, i, b"x" * 200) for i in lines))
    arguments = [
        "-q",
        "ingest",
        "--partials-only",
        str(tmp_path / "d"),
        "--node",
        "n1",
        *map(str, logs),
    ]
    program = "import sys; from pathlib import Path\n"
    program += 'sys.modules["flex_native"] = None\n' if loops == "python" else ""
    program += f"from flex_api.cli import run; run({arguments})\n"
    program += (
        "peak = next(line for line in Path('/proc/self/status').open() if "
        "line.startswith('VmHWM'))\n"
    )
    program += "print(int(peak.split()[1]) // 1024, 'pandas.core.frame' in sys.modules)"
    peak, _, loaded = said(program).partition(" ")
    assert int(peak) < 256
    assert loaded == "False"
