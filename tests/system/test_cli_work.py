# ax work: exit codes to acks, the environment, renewals while a command runs, slots, SIGTERM, superseded attempts,
# a restart of the server, a consumer deleted under it.
# ctest: sanitize=address
import asyncio
import json
import os
import signal
import time

from harness import SLOW, eventually, own, run


def lines(ax, name):
    path = os.path.join(ax.directory, name)
    return open(path).read().splitlines() if os.path.exists(path) else []


def work(ax, name, pool, command, *args):
    return ax.spawn(name, [own("ax"), "work", pool, "--exec", command, *args])


async def working(ax, worker):
    await eventually(lambda: "msg=working" in worker.log(), 20, "ax work started")


async def dead(ax):
    text = await ax.command(own("ax"), "dead", "ls", "--json")
    return {d["key"]: d for d in json.loads(text.splitlines()[-1])}


async def acks(ax):
    """The pool does not exist before; ax work adds it."""
    worker = work(ax, "work-a", "mail", 'b=$(cat); '
                  'echo "$AX_KEY|$AX_TASK|$AX_ATTEMPT|$AX_FENCE|$AX_PRIORITY|$AX_POOL|$b" >>seen; '
                  'case $b in good) ;; tired) exit 75;; odd) exit 3;; killed) kill -9 $$;; '
                  'bad) echo first >&2; echo "no such address" >&2; exit 65;; esac', "--concurrency", "3")
    await working(ax, worker)
    ids = {}
    for body in ("good", "tired", "odd", "killed", "bad"):
        ids[body] = (await ax.submit(body, f"key of {body}", "high", "mail",
                                     {"Ax-Max-Retry": "1", "Ax-Backoff": "100ms"}))["task"]
    await ax.settled(1, dead=4)
    seen = [line.split("|") for line in lines(ax, "seen")]
    count = {b: sum(1 for s in seen if s[6] == b) for b in ids}
    assert count == {"good": 1, "tired": 2, "odd": 2, "killed": 2, "bad": 1}, count
    for key, task, attempt, fence, priority, pool, body in seen:
        assert (key, task, priority, pool) == (f"key of {body}", ids[body], "high", "mail"), seen
        assert attempt in "12" and int(fence) > 0, seen
    letters = await dead(ax)
    assert letters["key of bad"]["reason"].endswith("exit 65: no such address"), letters
    assert letters["key of bad"]["attempt"] == 1 and letters["key of odd"]["attempt"] == 2, letters
    assert worker.stop() == 0


async def slots_and_renewal(ax):
    """Commands that run for three times the ack-wait, never more than there are slots, started once each."""
    await ax.pool("slow", ack_wait=1)
    worker = work(ax, "work-slow", "slow", 'echo "start $AX_KEY" >>slow; sleep 3; echo "end $AX_KEY" >>slow',
                  "--concurrency", "2")
    await working(ax, worker)
    for i in range(4):
        await ax.submit("x", f"slow-{i}", "high", "slow")
    done = await ax.done()
    await eventually(lambda: finished(ax, done + 4), 30, "four slow tasks done")
    events = [line.split() for line in lines(ax, "slow")]
    running = most = 0
    for what, _ in events:
        running += 1 if what == "start" else -1
        most = max(most, running)
    assert most == 2, events
    assert sorted(k for w, k in events if w == "start") == [f"slow-{i}" for i in range(4)], events
    assert worker.stop() == 0


async def finished(ax, n):
    return await ax.done() >= n


async def stopping(ax):
    """SIGTERM: what runs is finished and acked, nothing new is started; the rest is done by the next worker."""
    await ax.pool("stop")
    command = 'echo "start $AX_KEY" >>stop; sleep 1; echo "end $AX_KEY" >>stop'
    worker = work(ax, "work-stop", "stop", command, "--concurrency", "2")
    await working(ax, worker)
    for i in range(6):
        await ax.submit("x", f"stop-{i}", "high", "stop")
    await eventually(lambda: len(lines(ax, "stop")) == 2, 20, "two started")
    done = await ax.done()
    assert worker.stop() == 0
    events = [line.split()[0] for line in lines(ax, "stop")]
    assert events.count("start") == events.count("end") == 2, events
    await eventually(lambda: finished(ax, done + 2), 10, "the two are recorded")
    worker = work(ax, "work-stop-2", "stop", command, "--concurrency", "6")
    await eventually(lambda: finished(ax, done + 6), 30, "the others are done")
    assert len(lines(ax, "stop")) == 12, lines(ax, "stop")
    assert worker.stop() == 0

    # What was delivered and did not start goes back at once: another worker has it long before the ack-wait.
    worker = work(ax, "work-back-again", "stop", "echo $AX_ATTEMPT >>not-here")
    await working(ax, worker)
    await eventually(lambda: pulling(ax, "stop"), 10, "its pull waits")
    worker.pause()
    await ax.submit("x", "given back", "high", "stop")
    await eventually(lambda: delivered(ax, "stop"), 10, "delivered to the paused worker")
    worker.p.send_signal(signal.SIGTERM)
    assert worker.stop() == 0
    assert "given_back=1" in worker.log() and not lines(ax, "not-here"), worker.log()
    worker = work(ax, "work-next", "stop", "echo $AX_ATTEMPT >>here")
    await eventually(lambda: lines(ax, "here") == ["2"], 10, "it runs elsewhere, as the next attempt")
    assert worker.stop() == 0

    # A second signal stops the commands as well, which is no failure of their tasks.
    worker = work(ax, "work-stop-3", "stop", 'echo $$ >>pids; exec sleep 100')
    await ax.submit("x", "endless", "high", "stop", {"Ax-Max-Retry": "0"})
    await eventually(lambda: len(lines(ax, "pids")) == 1, 20, "the endless one started")
    worker.p.send_signal(signal.SIGINT)
    await eventually(lambda: "msg=stopping" in worker.log(), 10, "stopping")
    assert worker.running()
    assert worker.stop() == 0
    worker = work(ax, "work-stop-4", "stop", 'echo "$AX_ATTEMPT" >>ends')
    await eventually(lambda: lines(ax, "ends") == ["2"], 20, "the endless one runs again, though it has no retry")
    assert worker.stop() == 0


async def pulling(ax, pool):
    return (await ax.consumer("AX_WORK", pool))["num_waiting"] > 0


async def delivered(ax, pool):
    return (await ax.consumer("AX_WORK", pool))["num_ack_pending"] > 0


async def killed(ax):
    """kill -9 of the worker takes its command along; the task runs again elsewhere."""
    await ax.pool("kill", {"backoff": "100ms"}, ack_wait=1)
    worker = work(ax, "work-kill", "kill", 'echo $$ >>kill-pids; exec sleep 100')
    await ax.submit("x", "orphan", "high", "kill")
    await eventually(lambda: len(lines(ax, "kill-pids")) == 1, 20, "started")
    pid = int(lines(ax, "kill-pids")[0])
    worker.kill()
    await eventually(lambda: not os.path.exists(f"/proc/{pid}") or
                     open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z", 5, "its command is gone")
    done = await ax.done()
    worker = work(ax, "work-kill-2", "kill", "echo again $AX_ATTEMPT >>kill-again")
    await eventually(lambda: finished(ax, done + 1), 30, "done elsewhere")
    assert lines(ax, "kill-again") == ["again 2"], lines(ax, "kill-again")
    assert worker.stop() == 0


async def superseded(ax):
    """A paused worker's attempt times out and runs elsewhere; when it wakes up, its command is stopped, no ack."""
    await ax.pool("fence", {"backoff": "100ms"}, ack_wait=1)
    first = work(ax, "work-fence", "fence", 'echo "$AX_ATTEMPT $AX_FENCE" >>fence; exec sleep 100')
    await ax.submit("x", "fenced", "high", "fence")
    await eventually(lambda: len(lines(ax, "fence")) == 1, 20, "first attempt")
    first.pause()
    done = await ax.done()
    second = work(ax, "work-fence-2", "fence", 'echo "$AX_ATTEMPT $AX_FENCE" >>fence')
    await eventually(lambda: finished(ax, done + 1), 30, "second attempt done")
    first.resume()
    await eventually(lambda: "superseded attempt ended" in first.log(), 20, "the first attempt is stopped")
    attempts = [tuple(map(int, line.split())) for line in lines(ax, "fence")]
    assert len(attempts) == 2 and attempts[0][0] == 1 and attempts[1][0] == 2, attempts
    assert attempts[0][1] < attempts[1][1], attempts
    assert first.stop() == 0 and second.stop() == 0


async def coming_back(ax):
    """A server restart in the middle of commands, and the pool's consumer deleted: work goes on."""
    await ax.pool("back")
    worker = work(ax, "work-back", "back", 'echo $AX_KEY >>back; sleep 1', "--concurrency", "4")
    await working(ax, worker)
    done = await ax.done()
    for i in range(8):
        await ax.submit("x", f"back-{i}", "high", "back")
    await eventually(lambda: len(lines(ax, "back")) >= 4, 20, "four started")
    ax.server.stop()
    time.sleep(0)
    ax.server.start()
    await ax.server_ready()
    await eventually(lambda: finished(ax, done + 8), 60, "all done after the restart")
    assert sorted(set(lines(ax, "back"))) == [f"back-{i}" for i in range(8)], lines(ax, "back")

    await ax.api("CONSUMER.DELETE.AX_WORK.back")
    await eventually(lambda: ax.consumer("AX_WORK", "back"), 30, "the consumer is made again")
    await ax.submit("x", "after", "high", "back")
    await eventually(lambda: "after" in lines(ax, "back"), 30 * SLOW, "the task after the deletion")
    assert worker.stop() == 0


async def recreated(ax):
    """AX_WORK deleted while commands run: its successor counts from 1 again, so what the old one gave out gets no
    ack; everything runs again and ends as done, once."""
    await ax.pool("anew")
    worker = work(ax, "work-anew", "anew", 'echo "$AX_KEY $AX_FENCE" >>anew; [ -e go-on ] || exec sleep 100',
                  "--concurrency", "2")
    await working(ax, worker)
    done = await ax.done()
    for i in range(2):
        await ax.submit("x", f"anew-{i}", "high", "anew")
    await eventually(lambda: len(lines(ax, "anew")) == 2, 20, "two started")
    open(os.path.join(ax.directory, "go-on"), "w").close()
    await ax.api("STREAM.DELETE.AX_WORK")
    await eventually(lambda: worker.log().count("superseded attempt ended") == 2, 20, "both stopped")
    await eventually(lambda: finished(ax, done + 2), 60, "both done")
    ran = lines(ax, "anew")
    assert len(ran) == 4 and {line.split()[0] for line in ran[2:]} == {"anew-0", "anew-1"}, ran
    assert worker.stop() == 0


async def test(ax):
    await acks(ax)
    await slots_and_renewal(ax)
    await stopping(ax)
    await killed(ax)
    await superseded(ax)
    await coming_back(ax)
    await recreated(ax)


run(test)
