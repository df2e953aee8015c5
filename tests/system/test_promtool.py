# Prometheus' own tool has nothing to say against the metrics of both daemons, idle and after work, nor against the
# alert rules; and the rules raise what docs/operating.md says for made-up figures. Every metric that a rule names
# exists.
import asyncio
import os
import re
import subprocess

from harness import ROOT, eventually, need, run

RULES = os.path.join(ROOT, "deploy", "alerts.yml")


def promtool(*argv, text=None):
    done = subprocess.run([need("promtool", "AX_PROMTOOL"), *argv], input=text, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0 and (argv[0] != "check" or argv[1] != "metrics" or not done.stdout + done.stderr), \
        f"promtool {argv}: {done.returncode}\n{done.stdout}{done.stderr}"


async def check(ax):
    for daemon in (ax.ingress, ax.dispatch):
        status, text = daemon.get("/metrics")
        assert status == 200 and text
        await asyncio.to_thread(promtool, "check", "metrics", text=text)


async def test(ax):
    need("promtool", "AX_PROMTOOL")
    await asyncio.to_thread(promtool, "check", "rules", RULES)
    await asyncio.to_thread(promtool, "test", "rules", os.path.join(ROOT, "tests", "system", "alerts.yml"))
    await check(ax)
    await ax.pool("email", {"rate": 200})
    await ax.pool("other")
    worker = await ax.worker("email")
    for i in range(20):
        await ax.submit("x", f"k-{i}", priority=("high", "normal", "low")[i % 3])
    await eventually(lambda: len(worker.finished) == 20, 20, "worked")
    await eventually(lambda: ax.dispatch.metric("ax_worker_busy_ratio") is not None, 10, "the gauges are there")
    await check(ax)

    # What the rules ask for is there under the names that they use.
    served = ax.ingress.get("/metrics")[1] + ax.dispatch.get("/metrics")[1]
    known = set(re.findall(r"^# TYPE (\w+) ", served, re.M))
    with open(RULES, encoding="utf-8") as f:
        used = {re.sub(r"_bucket$", "", name) for name in re.findall(r"\bax_\w+", f.read())}
    assert used - known == set(), used - known


run(test, 60)
