"""The wheels of FLEX itself: its Python, and its native loops.

Takes exported sources. Returns wheels that are the same to the byte wherever they are built with
the same tools. The native loops take a cargo; they are kept by what they were built from.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.packages.sources import BUILD, Sources


def build_flex(sources: Sources, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    _run([*command, "--outdir", str(folder), str(sources.folder)], sources, {})
    return next(folder.glob("flex_controller-*.whl"))


def build_native(sources: Sources, kept: Path, *, again: bool) -> Path:
    """With `again` what is kept is not used. What lists the crates it was built from lies beside
    it.
    """
    if not shutil.which("cargo"):
        raise SystemExit(
            "packages: the controller's native loops take a cargo (1.88 or newer), and "
            "there is none; nothing was built. Install Rust, or say --without-native"
        )
    folder = kept / _digest(sources.folder / "native")
    if again:
        shutil.rmtree(folder, ignore_errors=True)
    if not folder.is_dir():
        target = BUILD / "target"
        shutil.rmtree(target, ignore_errors=True)
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        flags = f"--remap-path-prefix={home}=/cargo --remap-path-prefix={BUILD}=/flex"
        _run(
            [
                *(sys.executable, "-m", "maturin", "build", "--release", "--quiet"),
                *("--manifest-path", str(sources.folder / "native/Cargo.toml")),
                *("--interpreter", sys.executable, "--out", str(part)),
            ],
            sources,
            {"RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(target)},
        )
        shutil.copyfile(sources.folder / "native/Cargo.lock", part / "Cargo.lock")
        part.rename(folder)
        shutil.rmtree(target)
    return next(folder.glob("flex_native-*.whl"))


def _digest(folder: Path) -> str:
    """The digest of what the native loops are built from, and with."""
    made = hashlib.sha256(
        subprocess.run(["rustc", "--version"], check=True, capture_output=True).stdout
    )
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "Cargo.lock":
            made.update(str(path.relative_to(folder)).encode())
            made.update(path.read_bytes())
    return made.hexdigest()[:16]


def _run(command: list[str], sources: Sources, more: dict[str, str]) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(sources.epoch), **more}
    ended = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ended.returncode:
        sys.stderr.write(ended.stdout[-4000:])
        raise SystemExit(f"packages: {' '.join(command[1:4])} failed; nothing was packaged")
