# A silent submission whose priority is no name: its dead letter is of the pool that its subject names, not of the pool
# `default`, which may be another team's.
# ctest: timeout=60
from harness import eventually, run


async def test(ax):
    for subject in ("ax.submit.*.email", "ax.submit." + "q" * 200 + ".email", "ax.submit.a!b.email"):
        await ax.nc.publish(subject, b"x")
    await eventually(lambda: ax.ingress.metric("ax_ingress_buried_total") == 3, 10, "they are dead letters")
    subjects = await ax.subjects("AX_DEAD")
    assert len(subjects) == 3 and all(s.startswith("ax.dead.email.") for s in subjects), subjects


run(test)
