"""Certificates of nodes, made by openssl for one test."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

# Keys of this kind are made at once.
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True, slots=True)
class Authority:
    """Who signs certificates. Its own is in `ca`."""

    folder: Path
    name: str

    @property
    def ca(self) -> Path:
        return self.folder / f"{self.name}.pem"

    @property
    def _key(self) -> Path:
        return self.folder / f"{self.name}.key"

    def begin(self) -> Authority:
        self.folder.mkdir(parents=True, exist_ok=True)
        named = ("-subj", f"/CN={self.name}", "-days", "2")
        _openssl(
            *("req", "-x509", *_KEY, "-keyout", str(self._key)), *("-out", str(self.ca), *named)
        )
        return self

    def sign(self, name: str, file: Path, days: int = 2, names: str = "") -> Path:
        """Writes a certificate of this name with its key. One of fewer than 0 days is expired.
        `names` are those that it is for, as openssl writes them; else it is for the one.
        """
        key, asked = file.with_suffix(".key"), file.with_suffix(".csr")
        _openssl(
            *("req", *_KEY, "-keyout", str(key), "-out", str(asked)),
            *("-subj", f"/CN={name}", "-addext", f"subjectAltName={names or f'DNS:{name}'}"),
        )
        _openssl(
            *("x509", "-req", "-in", str(asked), "-out", str(file)),
            *("-CA", str(self.ca), "-CAkey", str(self._key), "-CAcreateserial"),
            *("-days", str(days), "-copy_extensions", "copy"),
        )
        file.write_text(file.read_text() + key.read_text())
        return file


def _openssl(*words: str) -> None:
    subprocess.run(("openssl", *words), check=True, capture_output=True)
