# A priority whose policy is spill takes everything: the overflow waits in AX_SPILL and flows back, oldest first.
# ctest: timeout=120

from harness import eventually, run

COUNT = 1000


async def test(ax):
    await ax.pool("email", {"batch": 10})
    config = (await ax.stream("AX_LOW"))["config"]
    await ax.edit_stream("AX_LOW", max_msgs=100, metadata={**config["metadata"], "ax.on_full": "spill"})
    await eventually(lambda: spills(ax), 15, "the policy took effect")
    first = await ax.messages("AX_LOW", "AX_SPILL")
    for i in range(COUNT):
        reply = await ax.submit(f"{i}", f"k{i}", "low")
        assert reply["duplicate"] is False and reply["state"] == "queued", reply
        assert reply["stream"] in ("AX_LOW", "AX_SPILL"), reply
    assert await ax.messages("AX_LOW") <= 100
    assert await ax.messages("AX_LOW", "AX_SPILL") == first + COUNT
    for i in (0, COUNT // 2, COUNT - 1):
        reply = await ax.submit("again", f"k{i}", "low")
        assert reply["duplicate"] is True and reply["state"] == "queued", (i, reply)
    worker = await ax.worker(pulls=1)
    await ax.settled(first + COUNT, 60)
    order = [int(t.body) for t in worker.starts if t.key.startswith("k")]
    assert sorted(order) == list(range(COUNT)), f"{len(order)} runs, {len(set(order))} tasks"
    displaced = max(abs(n - i) for i, n in enumerate(order))
    assert displaced <= 100, f"a task was worked {displaced} places from its turn"

    # A restart in order forgets no spilled key and holds up no spilled task.
    ax.workers.remove(worker)
    await worker.stop()
    for i in range(300):
        await ax.submit("x", f"second-{i}", "low")
    await ax.ingress.restart(hard=False)
    reply = await ax.submit("again", "second-299", "low")
    assert reply["duplicate"] is True, f"a spilled key is forgotten after a restart: {reply}"
    await ax.worker(pulls=4)
    await ax.settled(first + COUNT + 300, 20)


async def spills(ax):
    """Submits until something lands in AX_SPILL."""
    for _ in range(101):
        try:
            if (await ax.submit("filler", f"filler-{spills.count}", "low"))["stream"] == "AX_SPILL":
                return True
        except Exception:  # noqa: BLE001  busy: the policy is not known yet
            return False
        finally:
            spills.count += 1
    return False
spills.count = 0


run(test)
