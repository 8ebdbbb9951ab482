"""Two controllers at once, on the logs that allow it: memory and PostgreSQL."""

import threading
import time

import pytest

from tests.kit.postgres import PostgresServer
from tests.wal import kit
from tests.wal.conftest import Place
from xce.wal.port import Batch, Fenced, LogBroken, LogHeld
from xce.wal.postgres import PostgresLog, open_postgres
from xce.wal.write import Work

TTL = 10 * kit.SECOND_US


shared = pytest.mark.parametrize("place", ["memory", "postgresql"], indirect=True)


@shared
def test_a_living_leader_keeps_others_out(place: Place) -> None:
    one, two = place.another(), place.another()
    assert one.lead("home-a", 0, TTL) == 1
    with pytest.raises(LogHeld, match="home-a leads in epoch 1"):
        two.lead("home-b", 1, TTL)
    one.renew(1, 1, TTL)
    assert one.append(kit.batch(1, 1)).lsn == 1


@shared
def test_a_home_that_finds_its_own_name_takes_over_at_once(place: Place) -> None:
    one, two = place.another(), place.another()
    one.lead("home-a", 0, TTL)
    one.append(kit.batch(1, 1))
    assert two.lead("home-a", 1, TTL) == 2
    assert two.append(kit.batch(2, 2)).lsn == 2
    with pytest.raises(Fenced, match="epoch 1 was taken over: home-a has 2"):
        one.append(kit.batch(1, 2))
    assert [record.epoch for record in two.read(1)] == [1, 2]


@shared
def test_an_expired_leader_is_replaced_and_fenced(place: Place) -> None:
    one, two = place.another(), place.another()
    one.lead("home-a", 0, 1)
    time.sleep(0.005)
    assert two.lead("home-b", 10, TTL) == 2
    for fenced in (lambda: one.append(kit.batch(1, 1)), lambda: one.renew(1, 11, TTL)):
        with pytest.raises(Fenced):
            fenced()
    assert two.head().lsn == 0


@shared
def test_who_resigned_is_not_waited_for(place: Place) -> None:
    one, two = place.another(), place.another()
    one.resign(one.lead("home-a", 0, TTL))
    assert two.lead("home-b", 1, TTL) == 2


@shared
def test_a_new_leader_sees_what_the_old_one_appended(place: Place) -> None:
    one, two = place.another(), place.another()
    one.lead("home-a", 0, TTL)
    head = one.append(kit.batch(1, 1, 5))
    two.lead("home-a", 1, TTL)
    assert two.head() == head
    assert two.append(kit.batch(2, 6)).lsn == 6


@pytest.mark.postgres
def test_a_takeover_waits_for_an_append_under_way_and_then_sees_it(postgres_url: str) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def at_point(name: str) -> None:
        if name == "log.written":
            reached.set()
            go_on.wait(10)

    one, two = open_postgres(postgres_url, at_point=at_point), open_postgres(postgres_url)
    one.lead("home-a", 0, TTL)
    appending = threading.Thread(target=one.append, args=[kit.batch(1, 1)])
    appending.start()
    assert reached.wait(10)
    epochs: list[int] = []
    leading = threading.Thread(target=lambda: epochs.append(two.lead("home-a", 0, TTL)))
    leading.start()
    leading.join(0.1)
    assert epochs == []
    go_on.set()
    for thread in (appending, leading):
        thread.join(10)
    assert epochs == [2]
    assert two.head().lsn == 1
    for log in (one, two):
        log.close()


@pytest.mark.postgres
def test_a_renewal_goes_through_between_appends_of_another_thread(postgres_url: str) -> None:
    log = open_postgres(postgres_url)
    log.lead("home-a", 0, TTL)
    before = log.leader().expires_us
    log.append(kit.batch(1, 1))
    log.renew(1, 0, 2 * TTL)
    assert log.leader().expires_us >= before + TTL
    log.close()


@pytest.mark.postgres
def test_a_warning_at_the_commit_makes_the_outcome_unknown(postgres_url: str) -> None:
    class Warned(PostgresLog):
        def _transact(self, epoch: int, work: Work) -> None:
            self._at_point = lambda _name: self._appending.execute(
                "DO $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication'; END $$"
            )
            super()._transact(epoch, work)

    plain = open_postgres(postgres_url)
    log = Warned(plain._appending, plain._engine, postgres_url)
    log.lead("home-a", 0, TTL)
    with pytest.raises(LogBroken, match="canceling wait for synchronous replication"):
        log.append(kit.batch(1, 1))
    with pytest.raises(LogBroken, match="nothing may follow"):
        log.append(kit.batch(1, 2))
    log.close()
    after = open_postgres(postgres_url)
    assert after.head().lsn == 1
    after.close()


@pytest.mark.postgres
def test_a_server_that_dies_breaks_the_log_and_keeps_what_was_appended(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    log = open_postgres(postgres_url)
    log.lead("home-a", 0, TTL)
    log.append(kit.batch(1, 1, 3))
    postgres_server.crash()
    with pytest.raises(LogBroken):
        log.append(kit.batch(1, 4))
    with pytest.raises(LogBroken, match="nothing may follow"):
        log.append(Batch(epoch=1))
    log.close()
    postgres_server.start()
    again = open_postgres(postgres_url)
    assert again.head().lsn == 3
    assert again.lead("home-a", 0, TTL) == 2
    assert again.append(kit.batch(2, 4)).lsn == 4
    again.close()


@pytest.mark.postgres
def test_a_renewal_that_failed_may_be_tried_again_and_an_append_may_not(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    log = open_postgres(postgres_url)
    log.lead("home-a", 0, TTL)
    postgres_server.crash()
    for fails in (lambda: log.renew(1, 0, TTL), lambda: log.confirm(1)):
        with pytest.raises(LogBroken):
            fails()
    postgres_server.start()
    log.renew(1, 0, TTL)
    log.confirm(1)
    for _again in range(2):
        with pytest.raises(LogBroken):
            log.append(kit.batch(1, 1))
    log.close()
