"""The numbers of a reason are what is there, and who follows its cure sees the job start."""

from collections import Counter

from tests.scheduler.doctor import Patient
from xce.scheduler.plan import Placement
from xce.scheduler.reasons import Code, Cure, PendReason
from xce.scheduler.session import dry_run

CLUSTERS = 700
CURES_AT_MOST = 12
SEEN = {
    Code.SHORT_ON_HOST: 40, Code.MEMBERS_SHORT: 20, Code.DOMAIN_SHORT: 4, Code.NEVER_FITS: 40,
    Code.CLUSTER_NEVER_FITS: 5, Code.DOMAIN_NEVER_FITS: 3, Code.LIMIT_REACHED: 5,
    Code.LIMIT_NEVER: 5, Code.LIMIT_ON_HOSTS: 5, Code.JOB_GROUP_LIMIT: 5, Code.WOULD_DELAY: 5,
    Code.NO_RUN_LIMIT: 5, Code.NO_USABLE_HOST: 3, Code.RESERVED: 1,
}  # fmt: skip
"""How often each code comes up at the least, so that the test is about something."""


def why_of(patient: Patient) -> PendReason | None:
    found = dry_run(patient.snapshot, patient.ask)
    return None if isinstance(found, Placement) else found


def test_every_number_of_a_reason_is_counted_anew_and_its_cure_makes_the_job_start() -> None:
    seen: Counter[Code] = Counter()
    for seed in range(CLUSTERS):
        patient, told = Patient(seed), []
        while (why := why_of(patient)) is not None:
            seen[why.code] += 1
            told.append(why.text())
            assert not patient.wrong(why), (seed, patient.wrong(why), why.text())
            if why.cure is Cure.NEVER:
                break
            assert len(told) <= CURES_AT_MOST, (seed, told)
            patient.cure(why)
    assert {code: seen[code] for code, least in SEEN.items() if seen[code] < least} == {}
