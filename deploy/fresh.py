"""Does FLEX work on a Debian 12 that has nothing yet? `make fresh` runs both commands of the README
in one.

Takes the commit that is checked out, and what the machine itself is set to for apt, pip and cargo.
Makes a minimal Debian by debootstrap, once without cargo and once with the machine's own Rust,
clones the commit into it, and runs `make demo` and `make test` there as root. Prints a table and
what was skipped, each reason once. Ends with 0 only where every test passed or was skipped.

Does not try what is not committed, and writes nowhere but to .cache/fresh (or $FRESH_DIR) and
artefacts/fresh. The Debian it starts from is kept and made anew once a day; each run gets a copy of
its own. Everything runs in a mount and process namespace of its own: what was mounted and started
ends with it, however it ends.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

CHECKOUT = Path(__file__).resolve().parents[1]
RESULTS = CHECKOUT / "artefacts/fresh"
SUITE = "bookworm"
# All that a checkout asks of a machine; the rest is for set-up to find missing.
PACKAGES = "python3,python3-venv,make,git,ca-certificates"
# What a Rust toolchain asks for where it was not installed from Debian: it links with the C
# compiler.
LINKER = ("gcc", "libc6-dev")
KINDS = ("without-cargo", "with-cargo")
# Seconds. Debian's packages and their fixes change daily.
KEPT_FOR = 24 * 3600
# Seconds. Four times what the suite takes on two busy cores with the Python loops.
LONGEST = 2 * 3600
# Namespaces that end with whoever made them, and with them every mount and process in them.
APART = (
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
    "--propagation",
    "private",
)
# Where things are inside of the new Debian.
CLONE = "srv/flex"
JUNIT = "srv/tests.xml"
RUST = "opt/rust"
DOWNLOADS = {
    "debs": "var/cache/apt/archives",
    "pip": "root/.cache/pip",
    "crates": "root/.cargo/registry",
}
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# How the machine reaches what it may reach. Tokens to publish with are not among them.
CARRIED = (
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *(
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "PIP_CERT",
        "PIP_CLIENT_CERT",
        "PIP_PROXY",
    ),
    *("PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES"),
    *(
        "CARGO_HTTP_CAINFO",
        "CARGO_HTTP_PROXY",
        "CARGO_HTTP_TIMEOUT",
        "CARGO_NET_RETRY",
        "CARGO_REGISTRY_DEFAULT",
    ),
)
CARRIED_PREFIXES = ("CARGO_SOURCE_",)


class NotHere(Exception):
    """This machine cannot make a fresh Debian; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One command of the README in one Debian."""

    code: int
    seconds: float
    # User and system, of everything it started and waited for.
    cpu: float


@dataclass(frozen=True, slots=True)
class Counts:
    """What pytest counted. Why tests were skipped, with how many each."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    reasons: tuple[tuple[str, int], ...] = ()

    @property
    def good(self) -> bool:
        return self.passed > 0 and self.failed == 0 and self.errors == 0


@dataclass(frozen=True, slots=True)
class Result:
    kind: str
    demo: Ran
    test: Ran
    tests: Counts

    @property
    def good(self) -> bool:
        return self.demo.code == 0 and self.test.code == 0 and self.tests.good


# --- What came out
# --------------------------------------------------------------------------------------------


def counts_of(junit: str) -> Counts:
    """What a JUnit file of pytest's says; no tests at all where it says none."""
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for case in ElementTree.fromstring(junit).iter("testcase"):
        kinds = {child.tag for child in case}
        # A test that passed and whose fixture then failed to end has both.
        outcome = next(
            (kind for kind in ("error", "failure", "skipped") if kind in kinds), "passed"
        )
        outcomes[outcome] += 1
        if outcome == "skipped":
            reasons[case.findall("skipped")[0].get("message", "")] += 1
    ordered = tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    return Counts(
        outcomes["passed"], outcomes["failure"], outcomes["error"], outcomes["skipped"], ordered
    )


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def table(results: Sequence[Result]) -> str:
    """A line for each command in each Debian, then each reason to skip once."""
    layout = "{:15}{:11}{:>7}{:>8}{:>8}{:>9}{:>8}{:>8}"
    lines = [
        layout.format(
            "Debian 12", "command", "passed", "failed", "errors", "skipped", "time", "CPU"
        )
    ]
    for result in results:
        demo, test, counts = result.demo, result.test, result.tests
        ended = "passed" if demo.code == 0 else f"exit {demo.code}"
        lines.append(
            layout.format(
                result.kind, "make demo", ended, "", "", "", _clock(demo.seconds), _clock(demo.cpu)
            )
        )
        figures = (counts.passed, counts.failed, counts.errors, counts.skipped)
        lines.append(
            layout.format(
                result.kind, "make test", *figures, _clock(test.seconds), _clock(test.cpu)
            )
        )
    for result in results:
        lines += [
            f"skipped {result.kind}: {number} times: {why}" for why, number in result.tests.reasons
        ]
    return "\n".join(lines)


# --- The machine's own settings
# -------------------------------------------------------------------------------


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def sources() -> list[tuple[str, str, str]]:
    """URI, release and component of each list of packages of Debian 12 that this machine uses."""
    form = "$(CREATED_BY)|$(ORIGIN)|$(RELEASE)|$(COMPONENT)|$(REPO_URI)"
    found: list[tuple[str, str, str]] = []
    for line in _output("apt-get", "indextargets", "--format", form).splitlines():
        kind, origin, release, component, uri = line.split("|")
        if (
            kind == "Packages"
            and origin == "Debian"
            and component == "main"
            and release.startswith(SUITE)
        ):
            found.append((uri, release, component))
    return list(dict.fromkeys(found))


def _mirror(lists: Sequence[tuple[str, str, str]]) -> str:
    for uri, release, _ in lists:
        if release == SUITE:
            return uri
    raise NotHere(
        f"this machine's apt has no list of Debian's {SUITE}: run `apt-get update`, "
        "or add it to its sources"
    )


def carry_apt(root: Path, lists: Sequence[tuple[str, str, str]]) -> None:
    text = "".join(f"deb {uri} {release} {component}\n" for uri, release, component in lists)
    (root / "etc/apt/sources.list").write_text(text, encoding="utf-8")
    wanted = ("Acquire::http", "Acquire::Check-", "Acquire::Retries")
    dumped = _output("apt-config", "dump").splitlines()
    settings = "".join(f"{line}\n" for line in dumped if line.startswith(wanted))
    (root / "etc/apt/apt.conf.d/50machine").write_text(settings, encoding="utf-8")


def _settings_files(home: Path) -> Iterator[tuple[Path, str]]:
    """Where pip and cargo are told things, and where that is inside."""
    cargo = Path(os.environ.get("CARGO_HOME", home / ".cargo"))
    yield Path("/etc/pip.conf"), "etc/pip.conf"
    for name in (".pip/pip.conf", ".config/pip/pip.conf"):
        yield home / name, f"root/{name}"
    if "PIP_CONFIG_FILE" in os.environ:
        yield Path(os.environ["PIP_CONFIG_FILE"]), "root/.config/pip/pip.conf"
    for name in ("config", "config.toml"):
        yield cargo / name, f"root/.cargo/{name}"


def carried() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name in CARRIED or name.startswith(CARRIED_PREFIXES)
    }


def carry_files(root: Path) -> None:
    """Settings, the certificates that they name, and how names and users of networks are found."""
    pairs = [(source, root / inside) for source, inside in _settings_files(Path.home())]
    pairs += [(Path(name), root / name[1:]) for name in ("/etc/resolv.conf", "/etc/hosts", BUNDLE)]
    pairs += [
        (Path(value), root / value[1:]) for value in carried().values() if value.startswith("/")
    ]
    for source, inside in pairs:
        if source.is_file():
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.unlink(missing_ok=True)
            shutil.copyfile(source, inside)


def _toolchain() -> Path:
    """The folder of the machine's own Rust. Debian 12 has 1.63, and the loops want one of 2025."""
    if not shutil.which("rustc"):
        raise NotHere(
            "there is no rustc on the PATH: install Rust, or run `make fresh KIND=without-cargo`"
        )
    folder = Path(_output("rustc", "--print", "sysroot").strip()).resolve()
    if folder == Path("/usr"):
        raise NotHere(
            "the Rust of this machine is part of its system and cannot be lent: "
            "install one by rustup"
        )
    return folder


# --- One Debian
# -----------------------------------------------------------------------------------------------


def mount(root: Path, inside: str, *arguments: str) -> None:
    place = root / inside
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *arguments, str(place)], check=True)


def remove(folder: Path) -> None:
    """Never into what is mounted below it."""
    subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)


def _base(folder: Path, lists: Sequence[tuple[str, str, str]], log: Path) -> Path:
    """The minimal Debian that all start from."""
    base, made = folder / "base", folder / "base.made"
    if made.exists() and time.time() - made.stat().st_mtime < KEPT_FOR:
        return base
    made.unlink(missing_ok=True)
    remove(base)
    _say(f"makes a minimal Debian ({SUITE})")
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--include={PACKAGES}",
        SUITE,
        str(base),
        _mirror(lists),
    ]
    with log.open("w") as output:
        done = subprocess.run(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, check=False
        )
    if done.returncode != 0:
        raise NotHere(f"debootstrap ended with {done.returncode}: see {log}")
    made.touch()
    return base


def _prepared(kind: str, commit: str, folder: Path, lists: Sequence[tuple[str, str, str]]) -> Path:
    """A Debian of its own for this run, with the clone in it and all that it may see of the machine
    mounted.
    """
    base = _base(folder, lists, RESULTS / "debootstrap.log")
    root = folder / kind
    remove(root)
    subprocess.run(["cp", "--archive", "--reflink=auto", str(base), str(root)], check=True)
    carry_apt(root, lists)
    carry_files(root)
    mount(root, "proc", "-t", "proc", "proc")
    mount(root, "dev", "--rbind", "/dev")
    # A folder of its own: what browsers and databases leave there goes with them.
    mount(root, "dev/shm", "-t", "tmpfs", "tmpfs")
    # What was downloaded once is not downloaded again; what is installed is.
    for name, inside in DOWNLOADS.items():
        (folder / name).mkdir(exist_ok=True)
        mount(root, inside, "--bind", str(folder / name))
    subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", str(CHECKOUT), str(root / CLONE)], check=True
    )
    subprocess.run(
        ["git", "-C", str(root / CLONE), "reset", "--quiet", "--hard", commit], check=True
    )
    return root


def _inside(root: Path, command: str, log: Path, environment: Mapping[str, str]) -> Ran:
    """Run the command in the clone; what it says goes to the log, its ends to whoever waits."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with log.open("w") as output:
        code = subprocess.run(
            ["timeout", str(LONGEST), "chroot", str(root), "sh", "-c", f"cd /{CLONE} && {command}"],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            check=False,
        ).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(code, time.monotonic() - started, cpu)


def _tried(
    kind: str, commit: str, folder: Path, lists: Sequence[tuple[str, str, str]], only: str
) -> Result:
    root = _prepared(kind, commit, folder, lists)
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    environment = {
        "PATH": path,
        "HOME": "/root",
        **carried(),
        "PYTEST_ADDOPTS": f"--junitxml=/{JUNIT} {only}",
    }
    if kind == "with-cargo":
        mount(root, RUST, "--bind", "-o", "ro", str(_toolchain()))
        environment["PATH"] = f"/{RUST}/bin:{path}"
        install = f"apt-get update && apt-get install -y --no-install-recommends {' '.join(LINKER)}"
        if _inside(root, install, RESULTS / f"{kind}-linker.log", environment).code != 0:
            raise NotHere(
                f"what Rust links with could not be installed: see {RESULTS}/{kind}-linker.log"
            )
    runs: list[Ran] = []
    for command in ("make demo", "make test"):
        log = RESULTS / f"{kind}-{command[5:]}.log"
        _say(f"{kind}: {command}, see {log}")
        runs.append(_inside(root, command, log, environment))
    demo, test = runs
    junit = root / JUNIT
    tests = Counts()
    if junit.exists():
        shutil.copyfile(junit, RESULTS / f"{kind}.xml")
        tests = counts_of(junit.read_text(encoding="utf-8"))
    return Result(kind, demo, test, tests)


def _say(text: str) -> None:
    sys.stderr.write(f"fresh: {text}\n")


def why_not() -> str:
    """What keeps this machine from making a Debian; nothing where it can."""
    if os.geteuid() != 0:
        return "a fresh Debian takes root's rights: run it as root"
    missing = [
        name for name in ("debootstrap", "apt-get", "unshare", "chroot") if not shutil.which(name)
    ]
    if missing:
        return f"{', '.join(missing)} cannot be found: `make fresh` wants a Debian with debootstrap"
    tried = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
    return f"no namespaces may be made here: {tried.stderr.strip()}" if tried.returncode else ""


def _apart(arguments: Sequence[str]) -> int:
    """This program again, in namespaces of its own. The shell is there to collect processes whose
    parents have died: tests ask whether a process is still there, and one that nobody collects
    looks as if it were.
    """
    program = [sys.executable, str(Path(__file__).resolve()), "--apart", *arguments]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with subprocess.Popen([*APART, "bash", "-c", '"$@"; exit $?', "bash", *program]) as running:
        try:
            return running.wait()
        finally:
            # unshare takes no notice of a gentler signal; with it goes all that it started.
            running.kill()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Both commands of the README on a Debian 12 that has nothing yet."
    )
    parser.add_argument(
        "--where-possible",
        action="store_true",
        help="say so and end with 0 where this cannot be done",
    )
    parser.add_argument(
        "--only", default="", help="what pytest is told besides, to try some of the tests"
    )
    parser.add_argument("--apart", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "kinds", nargs="*", choices=[*KINDS, []], help="all of them where none is named"
    )
    given = parser.parse_args(arguments)
    if why := why_not():
        _say(f"not tried: {why}")
        return 0 if given.where_possible else 1
    if not given.apart:
        return _apart(arguments)
    folder = Path(os.environ.get("FRESH_DIR") or CHECKOUT / ".cache/fresh").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    commit = _output("git", "-C", str(CHECKOUT), "rev-parse", "--short", "HEAD").strip()
    _say(f"tries {commit}; what is not committed is not tried")
    try:
        # Two at once would take each other's Debian away.
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for kind in given.kinds or KINDS:
                results.append(_tried(kind, commit, folder, sources(), given.only))
    except NotHere as reason:
        _say(f"not tried: {reason}")
        return 1
    finally:
        if results:
            print(table(results))
    return 0 if all(result.good for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
