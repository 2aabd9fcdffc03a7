"""Proofs as packed JSON and back.

Takes a proof. Returns bytes, or the proof of bytes. Does not check it.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

from flex.errors import StoreError

if TYPE_CHECKING:
    from flex.placing.proof_statement import Json


def pack(proof: Json) -> bytes:
    text = json.dumps(proof, separators=(",", ":"), sort_keys=True)
    return zlib.compress(text.encode("utf-8"))


def unpack(body: bytes) -> Json:
    """Raises StoreError for bytes that are no proof."""
    try:
        proof = json.loads(zlib.decompress(body))
    except (zlib.error, ValueError) as error:
        raise StoreError(
            "reading a proof from the database",
            str(error),
            advice="restore a backup; the plan itself is not touched by this",
        ) from error
    if not isinstance(proof, dict):
        raise StoreError(
            "reading a proof from the database",
            "it is no object",
            advice="restore a backup; the plan itself is not touched by this",
        )
    return proof
