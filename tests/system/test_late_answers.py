# In a cluster more than one node may answer a question, the later answer at any time. A second answer to one question
# is not taken for the answer to a later question.
# ctest: sanitize=address
import asyncio

from harness import run

COUNT = 600
FALSE = (b'{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"}}',
         b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 7"}}',
         b'{"stream":"AX_HIGH","seq":99999}')


async def test(ax):
    seqs, replies = [], []

    async def overhear(msg):
        # Further answers, all of them false, to earlier questions.
        for reply in replies[-20:-4]:  # four are under way at a time
            await ax.nc.publish(reply, FALSE[len(replies) % 3])
        replies.append(msg.reply)

    async def one(i):
        answer = await ax.submit("x", f"k{i}")
        assert not answer["duplicate"], answer
        seqs.append(answer["seq"])

    await ax.nc.subscribe("ax.queue.>", cb=overhear)
    for i in range(0, COUNT, 4):
        await asyncio.gather(*(one(j) for j in range(i, i + 4)))
    assert await ax.messages("AX_HIGH") == COUNT
    assert sorted(seqs) == list(range(1, COUNT + 1)), "a false answer was believed"
    assert len(replies) == len(set(replies)) == COUNT, f"{len(replies) - len(set(replies))} reply subjects used again"


run(test, dispatch=0)
