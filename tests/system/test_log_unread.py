# Nobody reads stderr of the daemons, and the pipe is full: they start, do their work and stop in time all the same. What
# they had to say is there once somebody reads.
# ctest: timeout=60
import os
import subprocess
import time

from harness import _child, eventually, own, run


def restart_unread(ax, daemon, program):
    """daemon anew, with a full pipe as stderr. The end that nobody reads."""
    assert daemon.stop() == 0
    end, stderr = os.pipe()
    os.set_blocking(stderr, False)
    try:
        while True:
            os.write(stderr, b"full\n")
    except BlockingIOError:
        pass
    os.set_blocking(stderr, True)
    daemon.p = subprocess.Popen([own(program), "--http", str(daemon.port), "--log-level", "debug"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, env=ax.env,
                                preexec_fn=_child)
    os.close(stderr)
    return end


async def test(ax):
    await ax.pool("email")
    await ax.worker("email")
    daemons = {"ax-dispatch": ax.dispatch, "ax-ingress": ax.ingress}
    ends = {name: restart_unread(ax, daemon, name) for name, daemon in daemons.items()}
    for daemon in daemons.values():
        await daemon.ready()
        assert daemon.metric("ax_log_lines_dropped_total") == 0
    await ax.push([(f"t{i}", "x") for i in range(200)])
    await ax.settled(200)

    os.set_blocking(ends["ax-dispatch"], False)
    seen = b""

    def read():
        nonlocal seen
        try:
            seen += os.read(ends["ax-dispatch"], 1 << 20)
        except BlockingIOError:
            pass
        return b'msg="pool ready" pool=email' in seen
    await eventually(read, 10, "the lines come once they are read")
    lines = seen.splitlines()
    assert all(line == b"full" or line.startswith(b"ts=") or line == lines[-1] for line in lines), "half a line"

    began = time.monotonic()
    assert ax.ingress.stop() == 0
    assert time.monotonic() - began < 5, "it takes long to stop"
    for end in ends.values():
        os.close(end)


run(test)
