"""A browser without scripts, for pages over a store in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flex_api.web.caller_identity import csrf_of

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from tests.rest.conftest import Door

BROWSER = {"Accept": "text/html,*/*;q=0.8"}
SITE = "/site?name=s000.example.org"


class Browser:
    """A session that keeps its cookie, fills in forms and follows where they lead."""

    def __init__(self, door: Door, role: str) -> None:
        self.client: TestClient = door.open(headers=BROWSER)
        answer = self.client.post(
            "/login", data={"token": door.secrets[role]}, follow_redirects=False
        )
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        self.client.headers["Cookie"] = self.cookie

    def get(self, address: str) -> str:
        answer = self.client.get(address)
        assert answer.status_code == 200, (address, answer.status_code, answer.text[-2000:])
        return answer.text

    def send(self, address: str, status: int = 200, **fields: str) -> str:
        proof = csrf_of(self.cookie.partition("=")[2])
        answer = self.client.post(address, data={"csrf": proof, **fields})
        assert answer.status_code == status, answer.text[-2000:]
        return answer.text
