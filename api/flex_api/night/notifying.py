"""Tells people and their programs the result of a night or of the health watch: by mail, by
webhooks, and in a file for the node exporter.

Takes a world and a plan. Returns a sentence on who was told what. Nothing that goes wrong here
undoes a night or stops one: it is reported, and is in the record of the run.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import smtplib
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from email.message import EmailMessage
from functools import partial
from http.client import HTTPException
from pathlib import Path

from flex import http_without_redirects
from flex.errors import Away, BadInput, FlexError
from flex.model.plan import Plan
from flex.model.retry_schedule import Attempt
from flex_api.facts.move_progress import moves_of_plan
from flex_api.night import mail_of_the_night
from flex_api.night.mail_of_the_night import Bulletin
from flex_api.night.metrics_from_store import metrics_text
from flex_api.report import write_reports
from flex_api.settings.safety_and_notices import Webhook
from flex_api.wiring import World

# Seconds that a mail server or a webhook's receiver may take to answer. A guess.
TIMEOUT = 10.0
# Seconds before each further attempt, when a receiver does not take it or is away.
PAUSES = (1.0, 4.0)
# Headers of a webhook's request.
SIGNATURE = "X-Flex-Signature"
EVENT_ID = "X-Flex-Event-Id"


def tell_of_plan(world: World, plan: Plan, waiting: str, code: int) -> str:
    """Return what was told of a plan with which a night, or the health watch, came to its end."""
    address = _address(world, f"plans/{plan.id}")
    name = world.settings.cluster.name
    written = write_reports.place(world, plan) if world.settings.notify.attach_report else None
    return _tell(
        world,
        mail_of_the_night.night_bulletin(
            name, plan, waiting, code, address, plan.base, moves_of_plan(world.store, plan)
        ),
        written,
    )


def tell_failure(world: World, error: FlexError) -> str:
    """Return what was told of a night that was stopped."""
    return _tell(
        world,
        mail_of_the_night.failure_bulletin(world.settings.cluster.name, error, _address(world, "")),
    )


def still_in_dns(world: World, tried: Attempt, error: FlexError) -> str:
    """What was told of a dead node that could not be taken out of DNS."""
    return _tell(
        world,
        mail_of_the_night.attempt_bulletin(
            world.settings.cluster.name, tried, error, _address(world, "nodes")
        ),
    )


def sites_worse_off(world: World, plan: Plan | None, sites: Mapping[str, str], advice: str) -> str:
    """What was told of sites that were worse off where they moved to: what became of each."""
    address = _address(world, f"plans/{plan.id}" if plan else "moves")
    return _tell(
        world,
        mail_of_the_night.worse_off_bulletin(
            world.settings.cluster.name, plan.id if plan else "", sites, advice, address
        ),
    )


def _tell(world: World, news: Bulletin | None, report: Path | None = None) -> str:
    done = [*_write(world)]
    if news and news.event in world.settings.notify.on:
        done += [_try(world, *way) for way in _ways(world, news, report)]
    return "; ".join(done) or "nobody to tell"


def _ways(
    world: World, news: Bulletin, report: Path | None
) -> Iterator[tuple[str, Callable[[], None]]]:
    notify = world.settings.notify
    if notify.mail_to:
        yield f"mail to {', '.join(notify.mail_to)}", lambda: mail(world, news, report)
    for hook in notify.webhook:
        yield f"webhook {hook.name}", partial(post, hook, news, str(uuid.uuid4()))


def _write(world: World) -> Iterator[str]:
    path = world.settings.metrics.textfile
    if path:
        yield _try(world, f"metrics in {path}", lambda: _write_metrics(world, path))


def _write_metrics(world: World, path: Path) -> None:
    _replace(path, metrics_text(world.settings, world.store, world.clock()))


def _try(world: World, what: str, work: Callable[[], None]) -> str:
    try:
        work()
    except (OSError, ValueError, HTTPException, smtplib.SMTPException, FlexError) as error:
        world.say(f"Not told: {what}: {error}")
        return f"{what} failed: {error}"
    return what


def mail(world: World, news: Bulletin, report: Path | None = None) -> None:
    notify = world.settings.notify
    message = EmailMessage()
    message["Subject"] = " ".join(news.subject.split())[:200]
    message["From"] = notify.mail_from
    message["To"] = ", ".join(notify.mail_to)
    message["X-Flex-Event"] = news.event
    message.set_content(news.text + "\n")
    if report and report.exists():
        message.add_attachment(
            report.read_text(encoding="utf-8"), subtype="html", filename=report.name
        )
    host, _, port = notify.smtp.rpartition(":")
    with smtplib.SMTP(host.strip("[]"), int(port), timeout=TIMEOUT) as server:
        server.send_message(message)


def post(hook: Webhook, news: Bulletin, event_id: str, pauses: tuple[float, ...] = PAUSES) -> None:
    """The same event id each time, so that a receiver that got it twice can tell."""
    content = (
        {"text": f"{news.subject}\n{news.text}"}
        if hook.format == "slack"
        else {**news.data, "event_id": event_id}
    )
    body = json.dumps(content, sort_keys=True).encode()
    headers = {"Content-Type": "application/json", EVENT_ID: event_id, "User-Agent": "flex"}
    if secret := hook.secret():
        headers[SIGNATURE] = signature(secret, body)
    address = _check_address(hook.address())
    # Its scheme was looked at.
    request = urllib.request.Request(address, body, headers, method="POST")  # noqa: S310
    for pause in (*pauses, None):
        try:
            with http_without_redirects.answer(request, TIMEOUT):
                return
        except urllib.error.HTTPError as error:
            error.close()
            if elsewhere := http_without_redirects.elsewhere(error):
                raise Away(
                    f"posting to the webhook {hook.name}",
                    f"it answered {error.code}: {elsewhere}",
                    kept="it was not told",
                    advice="correct url or url_file in [[notify.webhook]]",
                ) from error
            if pause is None or (error.code < 500 and error.code != 429):
                raise
            time.sleep(pause)
        except (OSError, HTTPException):
            if pause is None:
                raise
            time.sleep(pause)


def signature(secret: bytes, body: bytes) -> str:
    """As receivers compute it from the body as it came."""
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


def _check_address(address: str) -> str:
    if not address.startswith(("https://", "http://")):
        raise BadInput(
            "a webhook's address",
            "it begins with neither https:// nor http://",
            kept="nobody was told",
            advice="correct url or url_file in [[notify.webhook]]",
        )
    return address


def _address(world: World, path: str) -> str:
    base = world.settings.notify.base_url.rstrip("/")
    return f"{base}/{path}" if base else ""


def _replace(path: Path, text: str) -> None:
    """Whole or not at all: the node exporter may read at any time."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
