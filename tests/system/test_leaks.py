# Leaks: every road of a task, bad input, a restart of the server and streams deleted under the daemons, and every
# command of ax. LeakSanitizer looks when a process ends; a leak makes its exit code 86, which fails the test.
# ctest: sanitize=address
# ctest: timeout=120
import asyncio

import wire
from fault_rig import ACK_WAIT, Rig
from harness import eventually, own, run

LEAK = 86


async def ax_(ax, *args, stdin=b"ack", wanted=0):
    """An ax command: its output. wanted None: any exit code but a leak's."""
    p = await asyncio.create_subprocess_exec(own("ax"), *args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                                             stderr=asyncio.subprocess.STDOUT, env=ax.env, cwd=ax.directory)
    out, _ = await p.communicate(stdin)
    text = out.decode(errors="replace")
    assert p.returncode != LEAK and p.returncode >= 0, f"ax {args}: {p.returncode}: {text}"
    assert wanted is None or p.returncode == wanted, f"ax {args}: {p.returncode}: {text}"
    return text


async def refused(ax):
    """Bad input of every kind, with and without somebody to tell."""
    for headers in ({"Ax-Bogus": "1"}, {"Ax-Delay": "soon"}, {"Ax-Schema": "ax.v1.Task"}, {"Ax-Schema": "no"},
                    {"Ax-Schema": "ax.v1.TaskBatch"}, {"Ax-Cron": "@every 1s"}, {"Nats-Msg-Id": "k" * 600}):
        for subject in ("ax.submit.high.email", "ax.submit.none.email", "ax.submit.high.bad.pool.name"):
            await ax.nc.publish(subject, b"\xff\x00\x01", headers=headers)
            await ax.nc.request(subject, b"\xff\x00\x01", headers=headers, timeout=10)
    await eventually(lambda: ax.messages("AX_DEAD"), 10, "some became dead letters")


async def roads(ax, rig):
    await rig.work()
    for plan, headers in (("ack", None), ("nak,ack", {"Traceparent": "00"}), ("term", None), ("silence,ack", None),
                          ("late,ack", None), ("ack", {"Ax-Delay": "200ms"}), ("hold", {"Ax-Timeout": "1s", "Ax-Max-Retry": "0"}),
                          ("ack", {"Ax-Expires": "1h"})):
        key = await rig.submit(plan, headers=headers)
        await rig.submit(plan, key)  # known
        if plan == "term":
            rig.given_up = key
            rig.ended[key] = "dead"
        elif plan == "hold":
            rig.ended[key] = "dead"  # runs over its time
    batch = wire.batch([wire.task(body="ack", key=f"batch-{i}") for i in range(20)] + [wire.task(key="no" * 400)])
    await ax.nc.request("ax.submit.high.email", batch, headers={"Ax-Schema": "ax.v1.TaskBatch"}, timeout=10)
    await ax.nc.request("ax.submit.high.email", wire.task(body="ack", key="one", headers={"a": "b"}),
                        headers={"Ax-Schema": "ax.v1.Task"}, timeout=10)
    cancelled = await rig.submit("ack", headers={"Ax-Delay": "1h"})
    await rig.cancel(cancelled)
    running = await rig.submit("silence,silence,silence")
    await rig.started(running)
    await rig.cancel(running)
    rig.ended[cancelled] = rig.ended[running] = "cancelled"
    cron = await rig.submit("ack", headers={"Ax-Cron": "@every 1s"})
    await eventually(lambda: len(rig.firings(cron)) >= 2, 20, "it fires")
    for verb in ("show", "pause", "resume", "run-now"):
        await ax_(ax, "cron", verb, cron, "--pool", "email")
    await ax_(ax, "cron", "ls", "--json")
    await ax_(ax, "cron", "rm", cron, "--pool", "email")


async def commands(ax):
    await ax_(ax, "init")
    for args in (("submit", "--pool", "email", "--key", "cli"), ("submit", "--pool", "email", "--delay", "1h", "--key", "cli-2"),
                 ("status",), ("status", "--json"), ("status", "cli", "--pool", "email"), ("pool", "ls"),
                 ("pool", "ls", "--json"), ("pool", "set", "email", "rate=1000"), ("pool", "pause", "email"), ("pool", "resume", "email"), ("dead", "ls"),
                 ("dead", "ls", "--json"), ("cancel", "cli-2", "--pool", "email")):
        await ax_(ax, *args)
    for args in (("doctor",), ("doctor", "--json"), ("status", "no-such"), ("cancel", "no-such"), ("dead", "show", "no-such"), ("dead", "retry", "no-such"),
                 ("cron", "show", "no-such"), ("cron", "bogus"), ("pool", "set", "email", "rate=many"), ("bogus",),
                 ("submit", "--delay", "soon")):
        await ax_(ax, *args, wanted=None)


async def worker_command(ax):
    work = ax.spawn("ax-work", [own("ax"), "work", "shell", "--exec", "cat >/dev/null", "--concurrency", "2"])
    await eventually(lambda: "msg=working" in work.log(), 20, "ax work started")
    done = await ax.done()
    for i in range(4):
        await ax.submit("x", f"shell-{i}", pool="shell")
    await eventually(lambda: has_done(ax, done + 4), 20, "ax work has worked")
    code = work.stop()
    assert code == 0, f"ax work ended with {code}"


async def has_done(ax, n):
    return await ax.done() >= n


async def dead_letters(ax, rig):
    letters = await ax.subjects("AX_DEAD")
    assert len(letters) >= 3, letters
    ids = [subject.rsplit(".", 1)[1] for subject in letters]
    await ax_(ax, "dead", "show", ids[0])
    await ax_(ax, "dead", "drop", ids[0], wanted=None)
    rig.ledger.retried(rig.given_up)
    await ax_(ax, "dead", "retry", rig.given_up, "--pool", "email")
    await rig.started(rig.given_up)
    await ax_(ax, "dead", "drop", "--all")


async def trouble(ax, rig):
    """The server restarts, AX_WORK and a consumer are deleted, settings are nonsense; and tasks are still worked."""
    for value in (b"{", b'{"rate":"x"}', b'{"bogus":1}', b'{"rate":500,"backoff":"100ms"}'):
        await ax.put_pool("email", value)
    ax.server.stop()
    ax.server.start()
    await ax.server_ready()
    assert (await ax.api("STREAM.DELETE.AX_WORK")).get("success")
    assert (await ax.api("CONSUMER.DELETE.AX_HIGH.email")).get("success")
    await eventually(lambda: ax.consumer("AX_WORK", "email"), 20, "AX_WORK is there again")
    await eventually(lambda: ax.consumer("AX_HIGH", "email"), 20, "the consumer is there again")
    await rig.set_pool()
    for _ in range(5):
        await rig.submit("ack")


async def test(ax):
    rig = Rig(ax, 0)
    await rig.prepare()
    await refused(ax)
    await roads(ax, rig)
    await asyncio.sleep(ACK_WAIT)
    await commands(ax)
    await worker_command(ax)
    await dead_letters_are_there(ax)
    rig.tasks.clear()
    await dead_letters(ax, rig)
    await trouble(ax, rig)
    await rig.settled(40)


async def dead_letters_are_there(ax):
    async def there():
        return len(await ax.subjects("AX_DEAD")) >= 4
    await eventually(there, 20, "dead letters")


run(test, seconds=110)
