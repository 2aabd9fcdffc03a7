"""HEAD for every address that has GET: the same is done, and the answer is sent without its body.

Takes requests. Returns answers. It is the outermost layer, and everything inside sees GET.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class Heads:
    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def bodiless(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})
            elif message.get("more_body"):
                # What follows a job would go on as long as the job does: nobody hears it.
                raise OSError("the answer has ended")

        try:
            await self.app({**scope, "method": "GET"}, receive, bodiless)
        except ClientDisconnect:
            # As the stream hears that nobody listens any more.
            return
