# Overlap: skip (default) makes no task while the last one is unfinished, whether it waits, runs or is to be retried;
# queue makes one for each firing.
# ctest: timeout=150
# ctest: timed
import asyncio
import time

from harness import eventually, run


def counted(ax, name):
    return sum(d.metric(name) or 0 for d in ax.ingresses)


async def test(ax):
    await ax.pool("email", {"backoff": "3s", "max_retry": 1})
    await ax.pool("idle")
    running, release = [], asyncio.Event()

    async def slow(task):
        running.append(task)
        if len(running) == 1:
            await release.wait()
            return "nak"
        return "ack"

    # Runs, and then waits for its retry: unfinished all the time.
    await ax.submit("x", "skip", headers={"Ax-Cron": "@every 1s"})
    await ax.worker(handler=slow, pulls=4)
    await eventually(lambda: running, 10, "the first firing runs")
    await eventually(lambda: counted(ax, "ax_ingress_cron_skipped_total") >= 2, 15, "firings are skipped while it runs")
    assert len(running) == 1, [t.key for t in running]
    release.set()
    retry = await eventually(lambda: len(running) > 1 and running[1], 20, "its retry")
    assert retry.id == running[0].id and retry.attempt == 2, "a firing did not see that the last one waits for its retry"
    third = await eventually(lambda: len(running) > 2 and running[2], 10, "the next firing runs after the retry")
    assert third.id != retry.id and third.attempt == 1
    record = await ax.last("KV_AX_DONE", f"$KV.AX_DONE.cron-{(await ax.submit('x', 'skip'))['task']}")
    assert record is not None and b"high" in record[1], record

    # Waits in its queue: nobody works there.
    await ax.submit("x", "waits", pool="idle", headers={"Ax-Cron": "@every 1s", "Ax-Overlap": "skip"})
    before = counted(ax, "ax_ingress_cron_skipped_total")
    await ax.submit("x", "all", pool="idle", headers={"Ax-Cron": "@every 1s", "Ax-Overlap": "queue"}, priority="low")
    started = time.monotonic()
    await eventually(lambda: low(ax, 4), 15, "overlap queue: a task for each firing")
    assert time.monotonic() - started > 2
    await eventually(lambda: counted(ax, "ax_ingress_cron_skipped_total") >= before + 2, 15, "skipped while it waits")
    waiting = [s for s in await ax.subjects("AX_HIGH") if ".idle." in s]
    assert len(waiting) == 1, waiting

    # Its queue is full: the firing waits to be fed, and is unfinished just so.
    await ax.edit_stream("AX_NORMAL", max_msgs=1)
    await ax.submit("x", None, "normal", pool="idle")
    await ax.submit("x", "fed", "normal", pool="idle", headers={"Ax-Cron": "@every 1s"})
    due = await eventually(lambda: waits_to_be_fed(ax), 10, "the first firing is not fed")
    before = counted(ax, "ax_ingress_cron_skipped_total")
    await eventually(lambda: counted(ax, "ax_ingress_cron_skipped_total") >= before + 6, 20, "skipped while it is fed")
    assert (await waits_to_be_fed(ax)) == due, "a second firing waits for the full queue"


async def low(ax, n):
    return len([s for s in await ax.subjects("AX_LOW") if ".idle." in s]) >= n


async def waits_to_be_fed(ax):
    found = await ax.last("AX_LATER", "ax.due.normal.idle.*")
    counts = [n for s, n in (await ax.subjects("AX_LATER")).items() if s.startswith("ax.due.normal.")]
    # A newer one is there for the moment in which it is looked at and skipped.
    first = await ax.api("STREAM.MSG.GET.AX_LATER", {"seq": 1, "next_by_subj": "ax.due.normal.>"})
    return found and counts and first["message"]["seq"]


run(test, ingress=2)
