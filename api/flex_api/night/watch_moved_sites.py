"""Watches sites that moved: what their new node answers is compared with what the old one did in
the hour before.

Takes a world. Stores which sites are watched, and that a site is to go back before anything is done
for that. Does not lead a site back: worse_off_returns.py does. Where `move.watch` is not set,
nothing is read and nothing is stored.

The stage `watch` of a move is `begun` while the site is watched, `undoing` once it is to go back,
`undone` when it is back, `done` where nothing was wrong, and `failed` where the site stays though
it is worse off, or nobody can tell any more.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from flex.model.node_answer_counts import SPANS, Answers, AnswersOfSpan, span_of, total
from flex.model.plan import Plan
from flex.model.site_moves import RunState, SiteMove, StageRun
from flex.partition import nodes_by_site
from flex.placing.is_site_worse_off import why_not_known, why_worse
from flex_api.in_words import amounts
from flex_api.moving import does_node_answer
from flex_api.night import count_answers_at_nodes
from flex_api.night.owners_by_partition import names_of
from flex_api.wiring import World
from flex_logs_ingest.reading.recent_answers import RecentAnswers

# What FLEX does itself is called so where commands have names.
BY = "flex"
# Characters of the number of a move, in hexadecimal, by two.
NUMBER = 8
NOBODY_KNOWS = "nobody can tell: "
# Noted in the audit log.
WORSE = "move.worse"


def begin(world: World, plan: Plan) -> None:
    """The plan is in force: sites that it brought from one node to another are watched from now on.
    What goes back is not. May be done again, and changes nothing then.
    """
    if not world.settings.move.watch or plan.state != "applied":
        return
    moves = list(_to_watch(world, plan))
    known = {run.move for run in _watches(world, moves)}
    now = world.time_of_day()
    with world.store.together():
        world.store.put_site_moves([move for move in moves if move.id not in known])
        for move in moves:
            if move.id not in known:
                run = StageRun(move.id, "watch", BY, "begun", 1, now)
                world.store.put_stage_run(run)


def count_hour_before(world: World) -> None:
    """For sites whose answers logs tell: that hour is at the ends of the logs now, and may be
    packed tonight.
    """
    moves = [move for move, run in world.store.watched_moves() if run.state == "begun"]
    if world.settings.move.watch and moves:
        now = world.time_of_day()
        count_answers_at_nodes.count_by_logs(world.settings, world.store, moves, now)


def begin_late(world: World) -> str:
    """Where a run was killed behind its plan, or another one finished that. The plan in force."""
    in_force, watch = world.store.in_force(), world.settings.move.watch
    if not watch or not in_force:
        return in_force
    plan = world.store.headline(in_force)
    settled = plan.settled if plan else None
    if settled and timedelta(0) <= world.time_of_day() - settled < watch:
        begin(world, world.store.plan(in_force))
    return in_force


def _to_watch(world: World, plan: Plan) -> Iterator[SiteMove]:
    """With the move that brought each site, where commands were run for it. Sites on several nodes
    are not among them: nobody counts what a member answers.
    """
    nodes = nodes_of_sites(world)
    going_back = {
        (move.site, move.target, move.source)
        for move, run in world.store.watched_moves()
        if run.state == "undoing"
    }
    brought = {
        (move.site, move.source, move.target): move for move in world.store.site_moves(plan=plan.id)
    }
    now = world.time_of_day()
    for plan_move in plan.moves:
        way = plan_move.site, plan_move.source or "", plan_move.target or ""
        if not all(way) or way in going_back or nodes.get(plan_move.site) != {plan_move.target}:
            continue
        id_ = secrets.token_hex(NUMBER)
        yield brought.get(way) or SiteMove(id_, *way, plan.id, now, state="moved", ended=now)


def _watches(world: World, moves: Sequence[SiteMove]) -> list[StageRun]:
    runs = world.store.stage_runs([move.id for move in moves])
    return [run for run in runs if run.stage == "watch"]


def nodes_of_sites(world: World) -> dict[str, set[str]]:
    _, partition = world.store.placement()
    return {site: set(nodes) for site, nodes in nodes_by_site(partition).items()}


@dataclass(frozen=True, slots=True)
class Watched:
    """A site that moved, and what both of its nodes answered: the new one in the last hour, and in
    all since.
    """

    move: SiteMove
    run: StageRun
    before: Answers
    after: Answers
    since: Answers

    @property
    def comparison_text(self) -> str:
        return f"{_answers_text(self.since)}; {_answers_text(self.before)} before"


def _answers_text(answers: Answers) -> str:
    failed = f", {answers.errors:,} failed" if answers.errors else ""
    return f"{amounts.count(answers.requests, 'request')}{failed}"


def look(world: World, recent: RecentAnswers | None = None) -> None:
    """Counts and judges. That a site goes back is stored, and the site rests from then on. Where
    logs are read, `recent` is how far earlier looks did.
    """
    if not world.settings.move.watch:
        return
    watched = [
        watched_move
        for watched_move in world.store.watched_moves()
        if watched_move[1].state == "begun"
    ]
    if not watched:
        return
    now = world.time_of_day()
    moves = [move for move, _ in watched]
    count_answers_at_nodes.count(world.settings, world.store, moves, now, recent)
    nodes = nodes_of_sites(world)
    for compared in _attach_answers(world, watched, now):
        _judge(world, compared, nodes, now)
    if not world.store.watched_moves():
        world.store.forget_answers(span_of(now) - SPANS)


def _attach_answers(
    world: World, watched: Sequence[tuple[SiteMove, StageRun]], now: datetime
) -> Iterator[Watched]:
    site_of = names_of(world.settings, {move.site for move, _ in watched})
    of_site: dict[str, list[AnswersOfSpan]] = {}
    for counted in world.store.answers_of(site_of):
        of_site.setdefault(site_of[counted.name], []).append(counted)
    latest = span_of(now) - SPANS
    for move, run in watched:
        switched = span_of(run.begun)
        site_answers = of_site.get(move.site, [])
        before = (
            span_answers
            for span_answers in site_answers
            if span_answers.node == move.source and switched - SPANS < span_answers.span <= switched
        )
        since = [
            span_answers
            for span_answers in site_answers
            if span_answers.node == move.target and span_answers.span >= switched
        ]
        # As long as before: what was well for hours hides nothing.
        after = (span_answers for span_answers in since if span_answers.span > latest)
        yield Watched(move, run, total(before), total(after), total(since))


def _judge(world: World, watched: Watched, nodes: Mapping[str, set[str]], now: datetime) -> None:
    if watched.move.target not in nodes.get(watched.move.site, ()):
        end(world, watched.run, "failed", "the site moved again meanwhile")
        return
    terms = world.settings.move.worse.terms()
    why = why_worse(watched.before, watched.after, terms)
    move, is_compared = watched.move, watched.before.requests >= terms.requests
    # Half of the few requests of a night may be those of one client that always gets errors.
    if why and (is_compared or does_node_answer.why_not(world, move.site, move.target)):
        _send_back(world, watched, why, now)
    elif now - watched.run.begun >= world.settings.move.watch:
        if unknown := why_not_known(watched.before, watched.since, terms):
            end(world, watched.run, "failed", NOBODY_KNOWS + unknown)
        else:
            end(world, watched.run, "done", watched.comparison_text)


def _send_back(world: World, watched: Watched, why: str, now: datetime) -> None:
    move = replace(watched.move, reason=why, rests_until=now + world.settings.move.rest)
    told = {"from": move.target, "to": move.source, "why": why}
    with world.store.together():
        if not _is_still(world, watched.run):
            return
        world.store.put_site_moves([move])
        world.store.put_stage_run(replace(watched.run, state="undoing", said=why))
        world.store.note(WORSE, move.site, None, told)
    world.say(f"{move.site} is worse off on {move.target} than it was on {move.source}: {why}.")


def end(
    world: World, run: StageRun, state: RunState, sentence: str, move: SiteMove | None = None
) -> bool:
    """The watch is over, and the move as given; unless somebody else has ended it."""
    ended = replace(run, state=state, said=sentence, ended=world.time_of_day())
    with world.store.together():
        if not _is_still(world, run):
            return False
        world.store.put_site_moves([move] if move else [])
        world.store.put_stage_run(ended)
    return True


def _is_still(world: World, run: StageRun) -> bool:
    """Watches look without a lease, and two may look at once."""
    now = world.store.stage_runs([run.move])
    return any((stage_run.stage, stage_run.state) == ("watch", run.state) for stage_run in now)
