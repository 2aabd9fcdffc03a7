"""Work that an answer does not wait for. It runs in a thread of this process, and any other process
can follow it and end it.

Takes what to do. Returns a job in the store. The work may end at safe points only: between its
stages and between files, never while DNS is being changed. Logs and plans are in the state that a
killed process leaves, and the next night goes on from there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from flex.errors import Busy, Cancelled, FlexError, Interrupted, Unknown
from flex.model.jobs import Job
from flex.store import Store
from flex.store.lease_holder import BEATS, PATIENCE, has_ended, holder
from flex_api.beat_while_working import beating
from flex_api.wiring import World
from flex_logs_ingest.reading.read_logs import Step

# How often at most the progress of a job is written down.
PACE = 0.5


@dataclass(slots=True)
class Follow:
    """One job while it is done: writes its progress down, and stops it at a safe point when it
    should end.
    """

    store: Store
    job_id: str
    request: str = ""
    told: datetime = field(default_factory=lambda: datetime.min.replace(tzinfo=UTC))

    def say(self, line: str) -> None:
        self._change(stage=line)

    def progress(self, step: Step) -> None:
        moment = datetime.now(UTC)
        if (moment - self.told).total_seconds() >= PACE:
            self.told = moment
            self._change(
                stage=f"{step.source} {step.path}"[:500],
                done=step.source_done,
                size=step.source_size,
            )

    def beat(self) -> None:
        """Others see by it that this process is still at it."""
        with self.store.together():
            self.store.put_job(replace(find(self.store, self.job_id), seen=datetime.now(UTC)))

    def past_return(self) -> None:
        """From here on it can not be ended any more."""
        self._change(past_return=True)

    def _change(self, **values: object) -> None:
        with self.store.together():
            job = find(self.store, self.job_id)
            if job.cancelled_by:
                raise Cancelled(
                    f"the job {job.id}",
                    f"{job.cancelled_by} ended it",
                    kept="what it had done until then is kept, and DNS is as it was",
                    advice="start it again when it is wanted",
                )
            # These are names and values of a job.
            self.store.put_job(replace(job, **values))  # type: ignore[arg-type]


@dataclass(slots=True)
class DoneInPart(Exception):
    """The work is done and has a result, but for what `error` says could not be done."""

    result: str
    error: FlexError


# What is done: it is given the world of the job and its follower, and gives back the address of
# what came of it.
Work = Callable[[World, Follow], str]


@dataclass(slots=True)
class Workers:
    """Starts jobs, one of each kind at a time."""

    describe: Callable[[BaseException, Job, str], str]
    threads: dict[str, threading.Thread] = field(default_factory=dict)

    def start(self, world: World, kind: str, author: str, work: Work, request: str = "") -> Job:
        """Raises Busy while another job is being done that changes the same things."""
        store = world.store
        now = datetime.now(UTC)
        job = Job(
            f"{now:%Y%m%dT%H%M%S}-{os.urandom(4).hex()}", kind, author, holder(), now, stage="begun"
        )
        with store.together():
            _refuse_busy(store, kind)
            store.put_job(job)
            store.note("job.start", job.id, None, {"kind": kind})
        follow = Follow(store, job.id, request)
        inside = replace(world, say=follow.say, progress=follow.progress)
        thread = threading.Thread(
            target=self._do, args=(inside, follow, work), name=f"job-{job.id}", daemon=True
        )
        self.threads[job.id] = thread
        thread.start()
        return job

    def wait(self, job_id: str) -> None:
        """Until a job of this process has ended."""
        if thread := self.threads.get(job_id):
            thread.join()

    def _do(self, world: World, follow: Follow, work: Work) -> None:
        try:
            follow.say("begun")
            with beating(f"seen-{follow.job_id}", follow.beat, BEATS):
                result = work(world, follow)
            self._end(follow, state="done", result=result, stage="done")
        except DoneInPart as part:
            problem = self._problem(part.error, follow)
            self._end(follow, state="done", result=part.result, problem=problem, stage="done")
        except Cancelled:
            self._end(follow, state="cancelled", stage="cancelled")
        except BaseException as error:  # noqa: BLE001  whatever it was, the job says so
            problem = self._problem(error, follow)
            self._end(follow, state="failed", problem=problem, stage="failed")
        finally:
            self.threads.pop(follow.job_id, None)

    def _problem(self, error: BaseException, follow: Follow) -> str:
        return self.describe(error, find(follow.store, follow.job_id), follow.request)

    def _end(self, follow: Follow, **values: object) -> None:
        store = follow.store
        with store.together():
            job = find(store, follow.job_id)
            # These are names and values of a job.
            store.put_job(replace(job, ended=datetime.now(UTC), **values))  # type: ignore[arg-type]
            store.note("job.end", job.id, None, {"kind": job.kind, "state": values["state"]})


def cancel(store: Store, job_id: str, author: str) -> Job:
    """Ask for its end. Raises Busy where it has ended already, or nothing can end it any more."""
    with store.together():
        job = find(store, job_id)
        if not job.live or job.past_return:
            answer = (
                f"it is {job.state}"
                if not job.live
                else "it is changing DNS already, and has to finish"
            )
            raise Busy(
                f"ending the job {job.id}",
                answer,
                kept="the job goes on as it was" if job.live else "nothing was changed",
                advice="to undo what it did, make a rollback",
            )
        job = replace(job, cancelled_by=author)
        store.put_job(job)
        store.note("job.cancel", job.id, None, {"kind": job.kind})
    return job


def find(store: Store, job_id: str) -> Job:
    """As it is: what a process that is gone was doing is not being done any more."""
    job = store.job(job_id)
    if job is None:
        raise Unknown(
            f"the job {job_id!r}",
            "there is none with that id",
            advice="GET /api/v1/jobs shows them all",
        )
    return as_it_is(job)


def as_it_is(job: Job) -> Job:
    if job.live and has_ended(job.holder, (job.seen or job.created) + PATIENCE, datetime.now(UTC)):
        return replace(job, state="failed", ended=job.created)
    return job


def interrupted_error(job: Job) -> Interrupted:
    """Why a job has failed that says nothing of it."""
    return Interrupted(
        f"the job {job.id}",
        f"the process that did it ended at {job.stage!r:.200}",
        kept="what it had done until then is kept, and what it left half done is "
        "finished by the next run",
        advice="start it again when it is wanted",
    )


def _refuse_busy(store: Store, kind: str) -> None:
    for other in map(as_it_is, store.jobs(100)):
        if other.live and (other.kind == kind or "ingest" not in (kind, other.kind)):
            raise Busy(
                f"starting a job to {kind}",
                f"the job {other.id} to {other.kind} is being done",
                kept="nothing was begun",
                advice=f"follow it at /api/v1/jobs/{other.id}/events, or end it with DELETE",
            )
