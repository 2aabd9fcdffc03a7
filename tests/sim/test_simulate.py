"""Both engines of the simulator, and what holds whatever the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flex import native_or_python
from flex.caches import CACHES
from flex.errors import FlexError
from flex.prediction.cache_replay import Ints
from flex.sim import simulated_clusters as clusters
from flex.sim.engine_input_and_output import (
    DISTRIBUTORS,
    FETCHED,
    FRONT_END,
    HIT,
    NOBODY,
    READ,
    WAITED,
    ServedAccesses,
    SimulatedJob,
)
from flex.sim.policies import POLICIES
from flex.sim.python_engine import Answer, reference_simulate
from flex.sim.rules import RULES
from flex.sim.simulate import NATIVE, NativeLoop, job_of, run_engine, simulate
from flex.sim.simulated_clusters import (
    LARGEST_FILE,
    MIB,
    MODELS,
    SECOND,
    FrontEnd,
    SimulatedCluster,
)
from flex.sim.traces import Trace
from tests.thorough import times

ENGINES = {
    "python": reference_simulate,
    native_or_python.name(): run_engine,
}


@pytest.fixture(params=list(POLICIES), scope="module")
def policy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(ENGINES), scope="module")
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _place(trace: Trace, cluster: SimulatedCluster) -> Sequence[Sequence[int]]:
    """Every third site on two nodes."""
    return [
        [s % cluster.nodes, *([(s + 1) % cluster.nodes] * (s % 3 == 0))]
        for s in range(len(trace.sites))
    ]


def _trace(target: Sequence[int], size: Sequence[int], work: Sequence[int] = ()) -> Trace:
    site = np.arange(len(size)) % 4
    client = np.arange(len(target)) * 7 % 11
    return Trace(
        "made up",
        _ints(target),
        _ints(size),
        site,
        ("a", "b", "c", "d"),
        client,
        np.arange(len(target)),
        _ints(work),
    )


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    size = draw(st.lists(st.integers(0, 200_000), min_size=1, max_size=12))
    target = draw(st.lists(st.integers(0, len(size) - 1), min_size=1, max_size=120))
    work = draw(st.sampled_from([[], [t % 3 * 1_000_000 for t in range(len(size))]]))
    return _trace(target, size, work)


@st.composite
def any_cluster(draw: st.DrawFn) -> SimulatedCluster:
    nodes = draw(st.integers(1, 5))
    base = MODELS[draw(st.sampled_from(list(MODELS)))](nodes, draw(st.integers(0, 500_000)))
    front = draw(st.sampled_from([NOBODY, FRONT_END, DISTRIBUTORS]))
    return replace(
        base,
        cache=draw(st.sampled_from(list(CACHES))),
        speed=tuple(draw(st.lists(st.integers(50, 400), min_size=nodes, max_size=nodes))),
        disks=draw(st.integers(1, 3)),
        limit=draw(st.sampled_from([0, 1, 40])),
        front=FrontEnd(front, 100_000, 500),
        prefetch=draw(st.sampled_from([0, 50])),
        largest=draw(st.sampled_from([LARGEST_FILE, 50_000])),
    )


def _job(
    trace: Trace, cluster: SimulatedCluster, policy: str, *, warm: bool = False
) -> SimulatedJob:
    return job_of(trace, cluster, POLICIES[policy].routing(trace, cluster, _place), warm=warm)


# Thresholds so low that small examples cross them.
def _nervous(job: SimulatedJob) -> SimulatedJob:
    return replace(
        job, low=1, high=2, patience=30_000_000, interval=5_000_000, margin=10, backlog_unit=100_000
    )


def _refuse(job: SimulatedJob) -> Answer:
    raise AssertionError(f"asked for {job.rule} and {job.cache}, which it does not know")


def test_what_only_python_knows_is_simulated_by_the_python_engine() -> None:
    job = _job(_trace([0, 1, 0], [3, 5]), clusters.flex(2, MIB), "lard")
    wanted = reference_simulate(job)
    for native in (
        NativeLoop(_refuse, ("gds",), tuple(RULES)),
        NativeLoop(_refuse, tuple(CACHES), ("turn", "least")),
    ):
        answer = run_engine(job, native)
        assert [*map(str, answer)] == [*map(str, wanted)]


def test_a_rule_has_the_number_that_the_native_loop_knows_it_by() -> None:
    asked: list[SimulatedJob] = []

    def note(job: SimulatedJob) -> Answer:
        asked.append(job)
        return reference_simulate(job)

    job = _job(_trace([0, 1, 0], [3, 5]), clusters.flex(2, MIB), "lard")
    native = NativeLoop(note, tuple(CACHES), ("new", "lard", "turn"))
    run_engine(job, native)
    assert {int(number) for number in asked[0].rule} == {1}


@pytest.mark.skipif(native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT)
def test_the_native_loop_knows_rules_and_caches_by_names_that_are_there() -> None:
    native = NATIVE
    assert {"turn", "lard"} <= set(native.rules) <= set(RULES)
    assert {"lru"} <= set(native.caches) <= set(CACHES)


@given(traces(), any_cluster(), st.booleans(), st.booleans())
def test_every_engine_decides_and_counts_the_same(
    policy: str, trace: Trace, cluster: SimulatedCluster, nervous: bool, warm: bool
) -> None:
    job = _job(trace, cluster, policy, warm=warm and not cluster.serial)
    job = _nervous(job) if nervous else job
    answers = [
        [column.tolist() for column in answer[:-2]] + [*answer[-2:]]
        for answer in (simulated(job) for simulated in ENGINES.values())
    ]
    assert all(answer == answers[0] for answer in answers)


@settings(max_examples=times(25))
@given(traces(), any_cluster())
def test_every_access_is_answered_by_a_node_that_may(
    policy: str, trace: Trace, cluster: SimulatedCluster
) -> None:
    job = _job(trace, cluster, policy)
    run = ServedAccesses(*ENGINES[native_or_python.name()](job))
    may = [set(job.option[job.first[k] : job.first[k + 1]].tolist()) for k in job.key.tolist()]
    assert all(node in nodes for node, nodes in zip(run.node.tolist(), may, strict=True))
    assert (run.delay >= 0).all()
    assert (run.delay <= run.end).all()
    assert ((run.idle >= 0) & (run.idle <= run.end)).all()
    assert (run.busy <= run.end).all()


@settings(max_examples=times(25))
@given(traces(), any_cluster())
def test_no_figure_is_no_number(policy: str, trace: Trace, cluster: SimulatedCluster) -> None:
    result = simulate(trace, cluster, policy, _place)
    figures = (
        result.seconds,
        result.throughput,
        result.per_server,
        result.miss_ratio,
        result.idle,
        *result.delay,
    )
    assert np.isfinite(figures).all()
    assert sum(node.requests for node in result.nodes) == result.requests == len(trace.target)
    assert 0 <= result.miss_ratio <= 1
    assert 0 <= result.byte_miss_ratio <= 1


def test_a_simulation_gives_the_same_again(policy: str) -> None:
    trace = _trace([n * n % 9 for n in range(300)], [1000 * n for n in range(1, 10)])
    once, again = (simulate(trace, clusters.lard(3, 20_000), policy, _place) for _ in range(2))
    assert once == again


def _run(
    name: str, trace: Trace, cluster: SimulatedCluster, policy: str = "round_robin"
) -> ServedAccesses:
    return ServedAccesses(*ENGINES[name](_job(trace, cluster, policy)))


@settings(max_examples=times(25))
@given(traces(), any_cluster())
def test_a_warm_cluster_reads_what_its_memory_cannot_hold_and_counts_one_pass(
    trace: Trace, cluster: SimulatedCluster
) -> None:
    assume(not cluster.serial)
    large = replace(cluster, ram=(10**9,) * cluster.nodes, largest=LARGEST_FILE)
    warm = simulate(trace, large, "lb", _place, warm=True)
    assert (warm.miss_ratio, warm.byte_miss_ratio) == (0.0, 0.0)
    assert warm.requests == sum(node.requests for node in warm.nodes) == len(trace.target)
    cold = simulate(trace, large, "lb", _place)
    assert cold.miss_ratio * len(trace.target) == pytest.approx(len(set(trace.target.tolist())))


def test_small_documents_come_from_memory_as_fast_as_the_lard_paper_says(engine_name: str) -> None:
    # "an 8 KByte document can be served from the main memory cache at a rate of approximately 1075
    # requests/sec"
    run = _run(engine_name, _trace([0] * 5000, [8192]), clusters.lard(1))
    assert 5000 / (run.end / SECOND) == pytest.approx(1075, rel=0.01)
    assert (run.outcome == READ).sum() == 1


def test_a_file_is_read_block_by_block_with_the_lard_papers_times(engine_name: str) -> None:
    size = 100 * 1024
    run = _run(engine_name, _trace([0], [size]), clusters.lard(1))
    sending = 200 * 40_000
    reading = 28_000_000 + 2 * 14_000_000 + 25 * 410_000
    assert run.delay.tolist() == [145_000 + reading + sending + 145_000]


def test_one_read_serves_all_who_wait_for_the_file(engine_name: str) -> None:
    run = _run(engine_name, _trace([0, 0, 0], [4096]), clusters.lard(1))
    assert run.outcome.tolist() == [READ, WAITED, WAITED]
    assert run.reading.tolist() == [28_410_000]


def test_files_on_different_disks_are_read_at_the_same_time(engine_name: str) -> None:
    one, two = (
        _run(engine_name, _trace([0, 1], [4096, 4096]), replace(clusters.lard(1), disks=disks)).end
        for disks in (1, 2)
    )
    assert one - two == pytest.approx(28_410_000, rel=0.05)


def test_what_another_node_has_is_fetched_from_it(engine_name: str) -> None:
    trace = replace(_trace([0, 0], [4096]), name="twice")
    run = _run(engine_name, trace, replace(clusters.lard(2), limit=1), "wrr_gms")
    assert run.outcome.tolist() == [READ, FETCHED]


def test_a_flex_node_answers_a_thousand_times_a_second_from_memory_and_a_hundred_from_disk(
    engine_name: str,
) -> None:
    size = round(14.6 * 1024)
    hits = _run(engine_name, _trace([0] * 2000, [size]), clusters.flex(1, MIB))
    reads = _run(engine_name, _trace([0] * 2000, [size]), clusters.flex(1, 0))
    assert 2000 / (hits.end / SECOND) == pytest.approx(1000, rel=0.01)
    assert 2000 / (reads.end / SECOND) == pytest.approx(100, rel=0.01)


def test_no_more_is_under_way_than_lard_admits(engine_name: str) -> None:
    cluster = clusters.lard(4)
    assert cluster.most_under_way == 3 * 65 + 25 - 1
    run = _run(engine_name, _trace([n % 50 for n in range(3000)], [60_000] * 50), cluster)
    # Little's law: what is under way is the rate times the mean delay.
    assert run.delay.sum() / run.end <= cluster.most_under_way


def test_lard_keeps_a_target_on_its_node_while_that_is_not_overloaded(engine_name: str) -> None:
    run = _run(
        engine_name,
        _trace([n % 7 for n in range(200)], [500] * 7),
        replace(clusters.lard(3), limit=10),
        "lard",
    )
    assert all(len(set(run.node[target::7].tolist())) == 1 for target in range(7))


def test_adjusted_thresholds_are_those_that_lard_goes_by() -> None:
    hot, cluster = _trace([0] * 4000, [30_000]), clusters.lard(3)

    def busy_nodes(high: int) -> int:
        result = simulate(
            hot, cluster, "lard", adjust=lambda rules: replace(rules, low=high - 1, high=high)
        )
        return sum(node.requests > 0 for node in result.nodes)

    assert (busy_nodes(10), busy_nodes(cluster.most_under_way)) == (3, 1)


@pytest.mark.parametrize(("accesses", "told"), [(3000, True), (999, False)])
def test_nodes_delays_are_apart_by_what_each_answer_of_the_slower_takes_longer(
    accesses: int, told: bool
) -> None:
    """One access at a time, from memory, alternately at either node, of which one takes twice as
    long: so the mean of both is one and a half times the quick one's.
    """
    cluster = replace(clusters.lard(2), limit=1, speed=(100, 50))
    result = simulate(_trace([0] * accesses, [5000]), cluster, "round_robin", warm=True)
    assert result.apart == pytest.approx(result.delay[0] / 1.5 if told else 0, rel=0.01)


def test_lard_with_replication_gives_a_hot_target_more_nodes(engine_name: str) -> None:
    hot = _trace([0] * 4000, [30_000])
    assert set(_run(engine_name, hot, clusters.lard(3), "lardr").node.tolist()) == {0, 1, 2}


def test_hacc_has_a_node_for_each_static_document_and_for_each_branch_of_dynamic_ones(
    engine_name: str,
) -> None:
    """Sites a to d are the branches; the first eight documents are dynamic, two of each branch."""
    trace = _trace([n % 16 for n in range(160)], [500] * 16, [1_000_000] * 8 + [0] * 8)
    run = _run(engine_name, trace, replace(clusters.lard(3), limit=2), "hacc")
    of = [set(run.node[target::16].tolist()) for target in range(16)]
    assert all(len(nodes) == 1 for nodes in of)
    assert all(of[document] == of[document + 4] for document in range(4))
    assert len(set.union(*of[8:])) == 3, "documents of one branch are on any node"


def test_hacc_hands_documents_of_an_overloaded_node_to_the_least_loaded(engine_name: str) -> None:
    """One node has a hundredth of the others' memory, so its disk has more to do."""
    trace = _trace([n * n % 97 for n in range(3000)], [4000] * 97)
    unequal = replace(clusters.lard(3, 400_000), ram=(4_000, 400_000, 400_000))
    run = _run(engine_name, trace, unequal, "hacc")
    early, late = run.node[:300], run.node[-1500:]
    assert (late == 0).mean() < (early == 0).mean() / 2


def test_what_is_prefetched_is_never_read(engine_name: str) -> None:
    trace = _trace([0, 1, 2, 3] * 50, [1000] * 4)
    cluster = replace(clusters.lard(2, 8000), prefetch=50)
    assert (_run(engine_name, trace, cluster, "cward_fr").outcome == HIT).all()


def test_what_is_large_is_prefetched_at_one_node_and_lard_begins_there(engine_name: str) -> None:
    trace = _trace([n * 7 % 12 for n in range(240)], [100] * 9 + [3000] * 3)
    cluster = replace(clusters.lard(3, 20_000), prefetch=50)
    job = _job(trace, cluster, "cward_pfr")
    assert job.pinned.reshape(12, 3)[9:].sum(axis=1).tolist() == [1, 1, 1]
    assert (ServedAccesses(*ENGINES[engine_name](job)).outcome == HIT).all()


def test_core_and_part_are_prefetched_by_their_shares_of_all_files(engine_name: str) -> None:
    """Among 400 files in order of their frequency, 2 nodes have the core of 5 % and 4 % each."""
    frequency = range(401, 1, -1)
    trace = _trace([n for n, times in enumerate(frequency) for _ in range(times)], [100] * 400)
    job = _job(trace, replace(clusters.lard(2, 400_000), prefetch=50), "cward_cr")
    pinned = job.pinned.reshape(400, 2).sum(axis=1)
    assert pinned.tolist() == [2] * 20 + [1] * 32 + [0] * 348


def test_of_files_that_are_not_large_a_smaller_core_is_prefetched(engine_name: str) -> None:
    """The 100 most frequent of 400 files are large: they go by LARD, each at one node at first."""
    frequency = range(401, 1, -1)
    size = [9000] * 100 + [100] * 300
    trace = _trace([n for n, times in enumerate(frequency) for _ in range(times)], size)
    job = _job(trace, replace(clusters.lard(2, 2_000_000), prefetch=50), "cward_pcr")
    assert np.diff(job.first).tolist() == [2] * 112 + [1] * 288
    pinned = job.pinned.reshape(400, 2).sum(axis=1)
    assert pinned.tolist() == [1] * 100 + [2] * 12 + [1] * 8 + [0] * 280
    assert len(ServedAccesses(*ENGINES[engine_name](job)).outcome) == len(trace.target)


def test_every_node_makes_room_when_the_front_end_knows_their_memories(engine_name: str) -> None:
    """One target is asked for by all at once, while it is on its way: copies of it come to be on
    every node.
    """
    rare = np.random.default_rng(4).integers(1, 400, 4000).tolist()
    trace = _trace(
        [0] * 60 + [target for pair in zip(rare, [0] * 4000, strict=True) for target in pair],
        [1000] * 400,
    )
    run = _run(
        engine_name, trace, replace(clusters.lard(4, 40_000), cache="lru", limit=12), "lb_gc"
    )
    missed = np.bincount(run.node[run.outcome != HIT], minlength=4)
    assert missed.min() > 0.5 * missed.mean()


def test_a_front_end_limits_the_cluster(engine_name: str) -> None:
    trace = _trace([0] * 3000, [1024])
    slow = replace(clusters.lard(8), front=FrontEnd(FRONT_END, 1_000_000, 0))
    assert 3000 / (_run(engine_name, trace, slow).end / SECOND) == pytest.approx(1000, rel=0.01)


WRONG = {
    "no access": lambda trace: replace(
        trace, target=trace.target[:0], client=trace.client[:0], time=trace.time[:0]
    ),
    "out of time order": lambda trace: replace(trace, time=trace.time[::-1]),
    "negative size": lambda trace: replace(trace, size=-trace.size),
    "unknown target": lambda trace: replace(trace, target=trace.target + 99),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_trace_that_cannot_be_is_refused_in_one_sentence(wrong: str) -> None:
    with pytest.raises(FlexError) as caught:
        simulate(WRONG[wrong](_trace([0, 1], [10, 20])), clusters.lard(2), "wrr")
    assert "made up" in str(caught.value)


def test_odd_clusters_and_traces_are_served(policy: str) -> None:
    """One site, one node, more nodes than sites, memory smaller than any file, files of no
    bytes.
    """
    odd = _trace([0, 1, 0], [0, 5000])
    for nodes in (1, 9):
        result = simulate(odd, clusters.lard(nodes, 1), policy, _place)
        assert result.requests == 3


@pytest.mark.parametrize(
    "change", [{"cache": "magic"}, {"ram": ()}, {"ram": (-1,)}, {"disks": 0}, {"prefetch": 101}]
)
def test_a_cluster_that_cannot_be_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(FlexError, match="the cluster to simulate"):
        simulate(_trace([0], [1]), replace(clusters.lard(1), **change), "wrr")  # type: ignore[arg-type]


@pytest.mark.parametrize("policy_", ["bounded_hashing", "lard", "lardr"])
def test_more_pairs_of_targets_and_nodes_than_fit_into_memory_are_refused(policy_: str) -> None:
    trace = _trace([0], [1] * 20_000)
    with pytest.raises(FlexError, match="pairs of a target and a node"):
        simulate(trace, clusters.lard(4096), policy_)


def test_an_unknown_policy_is_answered_with_those_there_are() -> None:
    with pytest.raises(FlexError) as caught:
        simulate(_trace([0], [1]), clusters.lard(1), "magic")
    assert "lardr" in caught.value.advice


def test_a_policy_is_understood_by_the_name_that_it_had_once() -> None:
    trace = _trace([0, 1, 0, 1], [1000, 2000])
    assert simulate(trace, clusters.lard(2), "lard_r") == simulate(trace, clusters.lard(2), "lardr")
