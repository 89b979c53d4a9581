"""Members in the simulated runtime."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.topology.cluster import Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path) as cluster:
        yield cluster


def test_a_lone_member_founds_the_cluster_and_leads_it(cluster: Cluster) -> None:
    a = cluster.start("a")

    took = cluster.until(lambda: a.leads)

    assert a.order == "a"
    assert took < 1


def test_three_members_agree_on_the_order_in_which_they_joined(cluster: Cluster) -> None:
    a = cluster.start("a")
    cluster.until(lambda: a.leads)
    b = cluster.start("b")
    cluster.until(cluster.agreed("a b", a, b))
    c = cluster.start("c")
    cluster.until(cluster.agreed("a b c", a, b, c))
    cluster.pass_s(60)

    assert [member.leads for member in (a, b, c)] == [True, False, False]
    assert a.state.view.epoch == c.state.view.epoch


def test_a_crashed_leader_is_followed_within_a_lease_and_a_renewal(cluster: Cluster) -> None:
    a = cluster.start("a")
    cluster.until(lambda: a.leads)
    b = cluster.start("b")
    c = cluster.start("c")
    cluster.until(lambda: c.is_settled and len(c.state.members) == 3)
    cluster.pass_s(20)
    a.crash()
    took = cluster.until(lambda: b.leads or c.leads)
    assert 7 < took < 13
