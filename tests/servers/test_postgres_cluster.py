"""A cluster of three servers, in which another one has every commit: no identifier is given twice, none that was given
is lost, and minting goes on by itself, whatever happens to the primary."""

from __future__ import annotations

import signal
import time

import pytest

from support.cluster import PatroniCluster
from support.minter import create_in_child
from support.traffic import Traffic

KILLS = 20


@pytest.fixture(scope="module")
def cluster():
    with PatroniCluster() as made:
        yield made


@pytest.fixture
def traffic(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("NOIDTOOLS_STORE", cluster.address)
    create_in_child(tmp_path / "kt5", "kt.reeeedeeeek", "long", "13030", "a", "b")
    started = Traffic(tmp_path / "kt5", tmp_path)
    started.wait_for_more(10)
    yield started
    started.stop()
    print(f"{len(started.minted)} minted, {len(started.bound)} bound; refused: {dict(started.refused)}")
    started.ensure_nothing_twice_and_nothing_lost()


def lose_and_go_on(traffic: Traffic, what: str, lose) -> float:
    """Do something to the cluster; returns the seconds that no identifier was given."""
    start = time.monotonic()
    lose()
    traffic.wait_for_more(30)
    pause = traffic.pause_after(start)
    print(f"{what}: {pause:.1f} seconds without a new identifier")
    return pause


def kill_primary(cluster: PatroniCluster):
    primary = cluster.primary()
    assert primary is not None
    primary.kill(manager=True)
    return primary


@pytest.mark.cluster
def test_minting_goes_on_when_the_primary_is_killed(cluster, traffic):
    lost = []
    lose_and_go_on(traffic, "primary killed", lambda: lost.append(kill_primary(cluster)))
    assert cluster.primary() not in (None, lost[0])
    lost[0].start()


@pytest.mark.cluster
def test_minting_goes_on_however_often_the_primary_is_killed(cluster, traffic):
    pauses = []
    for _ in range(KILLS):
        cluster.wait_until_whole()
        lost = []
        pauses.append(lose_and_go_on(traffic, "primary killed", lambda lost=lost: lost.append(kill_primary(cluster))))
        lost[0].start()
    print("seconds of the pauses:", " ".join(f"{pause:.1f}" for pause in sorted(pauses)))


@pytest.mark.cluster
def test_minting_goes_on_when_only_the_server_process_is_killed(cluster, traffic):
    for _ in range(3):
        cluster.wait_until_whole()
        primary = cluster.primary()
        lose_and_go_on(traffic, "server killed, its manager not", primary.kill)


@pytest.mark.cluster
def test_minting_goes_on_when_the_primary_is_stopped_and_after_it_continues(cluster, traffic):
    """It continues in the belief that it is the primary still."""
    for _ in range(3):
        cluster.wait_until_whole()
        primary = cluster.primary()

        def stop(primary=primary):
            primary.signal_manager(signal.SIGSTOP)
            primary.signal_server(signal.SIGSTOP)

        lose_and_go_on(traffic, "primary stopped", stop)
        primary.signal_server(signal.SIGCONT)
        primary.signal_manager(signal.SIGCONT)
        traffic.wait_for_more(30)
    cluster.wait_until_whole()


@pytest.mark.cluster
@pytest.mark.parametrize("from_clients", [True, False], ids=["from everybody", "from the others, not from clients"])
def test_minting_goes_on_when_the_primary_is_cut_off(cluster, traffic, from_clients):
    """Clients that still reach it get no acknowledgement from it that the others do not have."""
    cluster.wait_until_whole()
    primary = cluster.primary()

    lose_and_go_on(traffic, "primary cut off", lambda: primary.cut_off(from_clients=from_clients))
    assert cluster.primary() is not primary
    primary.connect_again()
    traffic.wait_for_more(30)
    cluster.wait_until_whole()


@pytest.mark.cluster
def test_minting_goes_on_through_a_planned_change_of_the_primary(cluster, traffic):
    for _ in range(3):
        cluster.wait_until_whole()
        lose_and_go_on(traffic, "planned switch", cluster.switch_over)
