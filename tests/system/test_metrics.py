# Tasks take every way there is. What both daemons count of each is what the test counted, and adds up: every submission
# has one outcome, every attempt handed off has one end. The number that waits is exact.
# ctest: timeout=150
import asyncio
import collections
import datetime
import re

from harness import SLOW, Refused, eventually, run

ACK_WAIT = 2


def figures(daemon):
    """{name: {labels: value}}"""
    found = collections.defaultdict(dict)
    for name, labels, value in re.findall(r"^(ax_\w+?)(?:\{([^}]*)\})? ([-+.eE0-9]+)$", daemon.get("/metrics")[1], re.M):
        found[name][labels] = float(value)
    return found


def of(found, name, **labels):
    return sum(v for k, v in found[name].items() if all(f'{a}="{b}"' in k for a, b in labels.items()))


async def test(ax):
    await ax.pool("email", {"backoff": "50ms", "max_retry": 1, "max_timeouts": 1}, ack_wait=ACK_WAIT)
    # Of the same id under two priorities one is put off while the other is under way, and dropped when that is done.
    seen, ends = collections.Counter(), collections.Counter()
    hold, revoked = asyncio.Event(), {}

    async def on_revoke(msg):
        revoked[msg.subject.split(".")[3]] = int(msg.data)
    await ax.nc.subscribe("ax.revoke.email.*", cb=on_revoke)

    async def handler(task):
        kind = (task.key or "plain").split("-")[0]
        seen[kind] += 1
        end = "ack"
        if kind == "fail" or kind == "nak" and task.attempt == 1:
            end = "nak"
        elif kind == "term":
            end = ("term", "no")
        elif kind == "dies" or kind == "silent" and task.attempt == 1:
            end = "silence"
        elif kind == "late" and task.attempt == 1:
            await eventually(lambda: revoked.get(task.id, 0) > task.fence, 20, "declared dead")  # and acks after all
            ends["late"] += 1
            return "ack"
        elif kind == "overruns" and task.attempt == 1:
            for _ in range(6):
                await task.progress()
                await asyncio.sleep(0.25)
            return "silence"
        elif kind in ("busy", "twice"):
            while not hold.is_set():
                await task.progress()
                ends["progress"] += 1
                await asyncio.sleep(0.3)
        ends[end if isinstance(end, str) else end[0]] += 1
        return end

    # What waits, to the task, with nobody at work.
    tasks = [f"{kind}-{i}" for kind, n in {"ack": 10, "nak": 3, "fail": 2, "term": 2, "silent": 2, "dies": 1, "late": 1}.items()
             for i in range(n)]
    for key in tasks:  # what is acked late is recorded before its retry comes
        await ax.submit("x", key, headers={"Ax-Backoff": "3s"} if key == "late-0" else None)
    await ax.submit("x")  # without a key
    await ax.submit("x", "expires", "normal", headers={"Ax-Expires": "1s"})
    await ax.submit("x", "cancelled", "low")
    await eventually(lambda: [of(figures(ax.dispatch), "ax_pending_dispatch", pool="email", priority=p)
                              for p in ("high", "normal", "low")] == [len(tasks) + 1, 1, 1], 15, "what waits is told")
    answer = await ax.nc.request("ax.cancel.email." + (await ax.submit("x", "cancelled", "low"))["task"], b"", timeout=10 * SLOW)
    assert b'"cancelled"' in answer.data, answer.data
    assert not [t for t in figures(ax.dispatch)["ax_worker_busy_ratio"]], "no worker is there"

    # Answers of ingress.
    assert (await ax.submit("x", "ack-0"))["duplicate"]
    for headers in ({"Ax-Delay": "never"}, {"Ax-Delay": "5s", "Ax-At": "2040-01-01T00:00:00Z"}):
        try:
            await ax.submit("x", headers=headers)
            raise AssertionError("taken")
        except Refused as refused:
            assert refused.code == 400
    past = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)).isoformat()
    await ax.nc.publish("ax.submit.high.email", b"x", headers={"Ax-Expires": past})  # nobody to tell: a dead letter
    await ax.submit("x", "delayed", headers={"Ax-Delay": "500ms"})
    await ax.edit_stream("AX_LOW", max_msgs=1)
    await ax.submit("x", "ack-low", "low")
    try:
        await ax.submit("x", "ack-low-2", "low")
        raise AssertionError("taken")
    except Refused as refused:
        assert refused.code == 503
    await asyncio.sleep(1)  # until "expires" has

    worker = await ax.worker("email", handler, pulls=30)
    await ax.submit("x", "overruns", headers={"Ax-Timeout": "1s"})
    await ax.submit("x", "busy", "high")
    await ax.submit("x", "twice", "high")
    await eventually(lambda: seen["twice"], 20, "it runs")
    await ax.submit("x", "twice", "normal")
    await eventually(lambda: of(figures(ax.dispatch), "ax_put_off_total") >= 1, 10, "put off")
    await eventually(lambda: of(figures(ax.dispatch), "ax_inflight") <= 2 and seen["delayed"], 30, "all but those held are done")
    hold.set()
    done = len(tasks) - 2 - 2 - 1 + 1 + 1 + 1 + 3  # less failed, terminated, dead by silence; keyless, delayed, low, last three
    dead = 2 + 2 + 1 + 1 + 1
    await ax.settled(done + 1, 60, dead)  # the one cancelled has a record, too
    assert (await ax.submit("x", "ack-0"))["duplicate"]

    def agrees():
        d, i = figures(ax.dispatch), figures(ax.ingress)
        wanted = {
            "ax_handed_off_total": sum(seen.values()),
            "ax_done_total": ends["ack"], "ax_late_acks_total": ends["late"],
            "ax_naks_total": ends["nak"], "ax_overran_total": 1,
            "ax_timeouts_total": ends["silence"] + ends["late"],
            "ax_retried_total": 3 + 2 + 2 + 1 + 1 + 1,  # nak, fail, silent, dies, late, overruns
            "ax_cancelled_total": 1,
            "ax_run_seconds_count": sum(seen.values()) - ends["silence"] - 1,
            "ax_queue_seconds_count": sum(seen.values()),
            "ax_inflight": 0, "ax_pending_dispatch": 0, "ax_leases_lost_total": 0, "ax_leases_taken_total": 1,
        }
        found = {name: of(d, name) for name in wanted}
        assert found == wanted, {k: (found[k], wanted[k]) for k in wanted if found[k] != wanted[k]}
        # the retry of what was acked late, the second of the two of one id, and what the server sent again on a busy
        # machine
        assert 2 <= of(d, "ax_duplicates_dropped_total") <= 5, d["ax_duplicates_dropped_total"]
        # of the one that overran what came before its time was over
        assert ends["progress"] + 1 <= of(d, "ax_progress_total") <= ends["progress"] + 6, d["ax_progress_total"]
        reasons = {r: of(d, "ax_dead_total", reason=r) for r in ("failed", "timed_out", "terminated", "expired")}
        assert reasons == {"failed": 2, "timed_out": 1, "terminated": 2, "expired": 1}, reasons
        ended = of(d, "ax_done_total") + of(d, "ax_naks_total") + of(d, "ax_overran_total") + of(d, "ax_timeouts_total") \
            + of(d, "ax_dead_total", reason="terminated")
        assert ended == of(d, "ax_handed_off_total"), "every attempt has one end"
        ratio, wanted_ratio = of(d, "ax_task_timeout_ratio"), of(d, "ax_timeouts_total") / ended
        assert abs(ratio - wanted_ratio) < 0.02, (ratio, wanted_ratio)

        accepted, refused = of(i, "ax_ingress_accepted_total"), of(i, "ax_ingress_refused_total")
        assert accepted == len(tasks) + 1 + 1 + 1 + 1 + 4, accepted  # keyless, expires, cancelled, low, the last four
        assert of(i, "ax_ingress_duplicates_total", state="queued") == 2, i["ax_ingress_duplicates_total"]
        assert of(i, "ax_ingress_duplicates_total", state="done") == 1, i["ax_ingress_duplicates_total"]
        assert of(i, "ax_ingress_busy_total", priority="low") == 1 and of(i, "ax_ingress_delayed_total") == 1
        assert of(i, "ax_ingress_refused_total", reason="invalid") == 2 and of(i, "ax_ingress_buried_total") == 1
        assert of(i, "ax_ingress_refused_total", reason="expired") == 1 and refused == 3, i["ax_ingress_refused_total"]
        assert of(i, "ax_ingress_fed_total", **{"from": "later"}) == of(d, "ax_retried_total") + 1, i["ax_ingress_fed_total"]
        return True

    await eventually(agrees, 15, "both count what the test counted")


run(test, 140)
