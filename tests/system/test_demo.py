# scripts/demo: ends with 0 and its table, leaves no process and no directory; and with 1 when the system is not right.
# ctest: timed
import asyncio
import os
import signal
import subprocess

from harness import ROOT, SLOW, eventually, need, run


def demo(ax, tmp):
    os.makedirs(tmp, exist_ok=True)
    env = {**ax.env, "AX_BIN_DIR": os.environ["AX_BIN_DIR"], "TMPDIR": tmp,
           "AX_NATS_SERVER": need("nats-server", "AX_NATS_SERVER")}
    return subprocess.Popen(["bash", os.path.join(ROOT, "scripts", "demo")], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd="/")


def processes_of(tmp):
    """Processes that have tmp in their arguments, environment or working directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = open(f"/proc/{pid}/cmdline", "rb").read() + open(f"/proc/{pid}/environ", "rb").read()
        except OSError:
            continue
        if tmp.encode() in text:
            found.append(int(pid))
    return found


async def test(ax):
    tmp = os.path.join(ax.directory, "demo-tmp")
    p = demo(ax, tmp)
    out, _ = await asyncio.wait_for(asyncio.to_thread(p.communicate), 60 * SLOW)
    text = out.decode()
    assert p.returncode == 0, text
    rows = {line.rsplit(None, 2)[0]: line.rsplit(None, 2)[1:] for line in text.splitlines() if line[-1:].isdigit()}
    expected = {"submitted": "627", "duplicates dropped": "140", "done": "485", "retried": "7", "dead": "2"}
    for name, n in expected.items():
        assert rows[name] == [n, n], text
    assert os.listdir(tmp) == [], os.listdir(tmp)
    await eventually(lambda: not processes_of(tmp), 5, "no process left")

    # Stopped half-way it leaves nothing either.
    p = demo(ax, tmp)
    while b"workers" not in await asyncio.wait_for(asyncio.to_thread(p.stdout.readline), 60 * SLOW):
        pass
    p.send_signal(signal.SIGTERM)
    await asyncio.wait_for(asyncio.to_thread(p.communicate), 30 * SLOW)
    assert p.returncode == 143, p.returncode
    assert os.listdir(tmp) == [], os.listdir(tmp)
    await eventually(lambda: not processes_of(tmp), 5, "no process left")


run(test, ingress=0, dispatch=0)
