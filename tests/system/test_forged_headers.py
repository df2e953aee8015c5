# Nobody makes a header of a stored message with text of his own: not by a newline in a worker's reason, nor in the key,
# group or header of a submission, alone or in a batch.
# ctest: sanitize=address
import asyncio
import base64

import wire
from harness import eventually, run

FORGED = "\r\nAx-Key: forged\r\nAx-Fence: 9\nAx-Died: never\rNats-Msg-Id: forged\r\n\r\nforged"


async def header_lines(ax, subject):
    """The header of the last dead letter on subject as it is stored, cut at every kind of line end."""
    reply = await ax.api("STREAM.MSG.GET.AX_DEAD", {"last_by_subj": subject})
    assert "error" not in reply, reply
    lines = base64.b64decode(reply["message"]["hdrs"]).replace(b"\r", b"\n").split(b"\n")
    return [line.split(b":")[0] for line in lines if line]


async def reason_of_a_worker(ax):
    async def handler(task):
        return "term", "gone" + FORGED
    worker = await ax.worker("email", handler)
    task = (await ax.submit("x", "mine"))["task"]
    await eventually(lambda: dead(ax, 1), 20, "the task is dead")
    names = await header_lines(ax, f"ax.dead.email.{task}")
    assert names.count(b"Ax-Key") == names.count(b"Ax-Reason") == names.count(b"Ax-Died") == 1, names
    assert b"Ax-Fence" not in names, names
    headers, body, _ = await ax.last("AX_DEAD", f"ax.dead.email.{task}")
    assert headers["Ax-Key"] == "mine" and body == b"x", headers
    assert headers["Ax-Reason"].startswith("terminated: gone  Ax-Key: forged"), headers
    await worker.stop()
    ax.workers.remove(worker)


async def dead(ax, n):
    return await ax.messages("AX_DEAD") == n


async def submissions_in_a_batch(ax):
    """Protobuf carries any bytes."""
    tasks = [wire.task(pool="email", priority="high", body="x", key="k" + FORGED),
             wire.task(pool="email", priority="high", body="x", key="k2", headers={"X-A": "v" + FORGED}),
             wire.task(pool="email", priority="high", body="x", key="k3", headers={"X-A" + FORGED: "v"})]
    reply = await ax.nc.request("ax.submit.high.email", wire.batch(tasks), timeout=10,
                                headers={"Ax-Schema": "ax.v1.TaskBatch"})
    answers = wire.replies(reply.data)
    assert [a["error"]["code"] for a in answers] == [400] * 3, answers
    assert await ax.unfinished() == 0


async def refused_without_reply(ax):
    """Becomes a dead letter with the headers that it had; a name with a newline in it is left out."""
    before = await ax.messages("AX_DEAD")
    header = b"Ax-Dealy: 1s\r\nX-A\nAx-Key: v\r\nX-B: v\nAx-Reason: forged\r\nX-C: kept\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", ax.port)
    block = b"NATS/1.0\r\n" + header + b"\r\n"
    writer.write(b'CONNECT {"verbose":false,"headers":true}\r\n'
                 + f"HPUB ax.submit.high.email {len(block)} {len(block) + 1}\r\n".encode() + block + b"x\r\nPING\r\n")
    await writer.drain()
    await eventually(lambda: dead(ax, before + 1), 20, "the refused submission is a dead letter")
    writer.close()
    names = await header_lines(ax, "ax.dead.email.*")
    assert b"Ax-Key" not in names and names.count(b"Ax-Reason") == 1 and b"X-C" in names, names


async def test(ax):
    await ax.pool("email")
    await reason_of_a_worker(ax)
    await submissions_in_a_batch(ax)
    await refused_without_reply(ax)


run(test)
