# ax work whose stderr nobody reads: its commands write far more than a pipe holds, leases are renewed all the same, each
# task runs once, SIGTERM ends it. Once somebody reads, he is told how many lines were dropped. A command that never
# stops writing holds up nobody.
import asyncio
import os
import re
import signal
import subprocess

from harness import SLOW, eventually, own, run

ACK_WAIT_S = 1
FLOOD = 'head -c 3000000 /dev/zero | tr "\\0" "x" | fold -w 99 >&2; echo >&2; echo "$AX_KEY $AX_ATTEMPT" >>ran; sleep 3'
ENDLESS = 'if [ "$AX_KEY" = quiet ]; then echo "$AX_KEY $AX_ATTEMPT" >>quiet; else exec yes >&2; fi'


def lines(ax, name):
    path = os.path.join(ax.directory, name)
    return open(path).read().splitlines() if os.path.exists(path) else []


def unread(ax, pool, command, *args):
    return subprocess.Popen([own("ax"), "work", pool, "--exec", command, *args], env=ax.env, cwd=ax.directory,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


async def ended(worker, seconds=10):
    await eventually(lambda: worker.poll() is not None, seconds, "ax work has ended")
    assert worker.returncode == 0, worker.returncode


async def flood(ax):
    await ax.pool("flood", {"max_retry": 0, "max_timeouts": 0}, ack_wait=ACK_WAIT_S)
    worker = unread(ax, "flood", FLOOD)
    for i in range(2):
        await ax.submit("x", f"flood-{i}", "high", "flood")
    await ax.settled(2)
    assert sorted(lines(ax, "ran")) == ["flood-0 1", "flood-1 1"], lines(ax, "ran")
    read = []
    reader = asyncio.create_task(asyncio.to_thread(lambda: read.extend(iter(lambda: os.read(worker.stderr.fileno(), 4096), b""))))
    await eventually(lambda: b"lines were dropped" in b"".join(read), 20, "the dropped lines are counted")
    worker.send_signal(signal.SIGTERM)
    await asyncio.wait_for(reader, 20 * SLOW)
    text = b"".join(read).decode()
    await ended(worker)
    dropped = [int(n) for n in re.findall(r'msg="stderr is not read fast enough, lines were dropped" lines=(\d+)', text)]
    [total] = [int(n) for n in re.findall(r"msg=stopped .* lines_dropped=(\d+)", text)]
    assert 20_000 < sum(dropped) <= total < 70_000, (dropped, total)
    whole = [line for line in text.splitlines() if line.startswith("ts=")]
    assert whole and all("msg=" in line for line in whole), whole


async def nobody_ever_reads(ax):
    worker = unread(ax, "flood", FLOOD)
    await ax.submit("x", "flood-2", "high", "flood")
    await eventually(lambda: len(lines(ax, "ran")) == 3, 20, "it runs")
    worker.send_signal(signal.SIGTERM)
    await ended(worker)
    await ax.settled(3)
    worker.stderr.close()


async def endless(ax):
    await ax.pool("endless", {"max_retry": 0, "max_timeouts": 0}, ack_wait=ACK_WAIT_S)
    worker = unread(ax, "endless", ENDLESS, "--concurrency", "2")
    await ax.submit("x", "loud", "high", "endless")
    await ax.submit("x", "quiet", "high", "endless")
    await eventually(lambda: lines(ax, "quiet") == ["quiet 1"], 20, "another one runs beside it")
    await asyncio.sleep(3 * ACK_WAIT_S)  # longer than a lease that nobody renews
    assert not ax.dispatch.metric('ax_timeouts_total{pool="endless"}')

    def stopped():  # two that come at once are one
        if worker.poll() is None:
            worker.send_signal(signal.SIGTERM)
        return worker.poll() is not None
    await eventually(stopped, 10, "ax work ends at the second signal", every=0.5)
    assert worker.returncode == 0, worker.returncode
    worker.stderr.close()


async def test(ax):
    await flood(ax)
    await nobody_ever_reads(ax)
    await endless(ax)


run(test)
