"""What a package is made of, as CycloneDX JSON.

Takes the wheels that went into it, and the crates that the native loops were built from. Returns
the text. Says of each part its name, version, digest and licence, and never where it was fetched
from: that is up to whoever builds.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from email import message_from_bytes
from pathlib import Path

from packaging.utils import canonicalize_name

# CycloneDX wants one that is the same for the same contents; this one names FLEX's.
_NAMESPACE = uuid.UUID("6f6a2f4e-1c55-5d6d-9f0e-0d8f7a3c2b11")
_LONGEST_LICENCE = 100

Component = Mapping[str, object]


def text(package: str, version: str, made: str, wheels: list[Path], cargo_lock: Path | None) -> str:
    components = [*map(_of_wheel, wheels)]
    if cargo_lock:
        components += _crates(cargo_lock)
    components.sort(key=lambda each: str(each["bom-ref"]))
    body = {
        "metadata": {
            "timestamp": made,
            "component": {
                "type": "application",
                "bom-ref": package,
                "name": package,
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": components,
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(body, sort_keys=True))
    head = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
    }
    return json.dumps({**head, **body}, indent=1, sort_keys=False) + "\n"


def _of_wheel(wheel: Path) -> Component:
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if name.count("/") == 1]
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        said = message_from_bytes(packed.read(about))
    name = canonicalize_name(said["Name"])
    purl = f"pkg:pypi/{name}@{said['Version']}"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    licence = said["License-Expression"] or said["License"] or ""
    found: dict[str, object] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": said["Version"],
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }
    # Some have the whole text there.
    if licence and "\n" not in licence and len(licence) <= _LONGEST_LICENCE:
        found["licenses"] = (
            [{"expression": licence}]
            if said["License-Expression"]
            else [{"license": {"name": licence}}]
        )
    return found


def _crates(lock: Path) -> Iterator[Component]:
    """Without those of FLEX itself, which have no checksum."""
    for crate in tomllib.loads(lock.read_text(encoding="utf-8"))["package"]:
        if "checksum" in crate:
            purl = f"pkg:cargo/{crate['name']}@{crate['version']}"
            yield {
                "type": "library",
                "bom-ref": purl,
                "name": crate["name"],
                "version": crate["version"],
                "purl": purl,
                "hashes": [{"alg": "SHA-256", "content": crate["checksum"]}],
            }
