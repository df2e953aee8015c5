# What AX builds on in a cluster, asked of the server itself: message ids over a step-down and a node's death, sequences
# that only rise, one winner of a compare-and-set, leases that end by themselves, pulls and acks heard at every node.
# ctest: timeout=120
import asyncio
import json

import nats.errors

from cluster import run
from harness import eventually, own


async def put(nc, subject, **headers):
    """A publish with the server's word, asked again until there is one; ("seq", duplicate) or the err_code."""
    names = {"msg_id": "Nats-Msg-Id", "expected": "Nats-Expected-Last-Subject-Sequence", "ttl": "Nats-TTL"}
    while True:
        try:
            reply = await nc.request(subject, b"x", headers={names[k]: str(v) for k, v in headers.items()} or None, timeout=1)
        except nats.errors.Error:
            await asyncio.sleep(0.05)
            continue
        answer = json.loads(reply.data)
        code = answer.get("error", {}).get("err_code")
        if code in (10008, 10164, 10158):  # no leader, or another one is on its way: not a word yet
            await asyncio.sleep(0.02)
            continue
        return code or (answer["seq"], answer.get("duplicate", False))


async def message_ids(c, connections):
    seq, again = await put(connections[0], "ax.work.email.a", msg_id="m1")
    assert not again
    await c.api("STREAM.MSG.DELETE.AX_WORK", {"seq": seq, "no_erase": True})
    assert await put(connections[1], "ax.work.email.a", msg_id="m1") == (seq, True)
    await c.step_down("AX_WORK")
    assert await put(connections[2], "ax.work.email.a", msg_id="m1") == (seq, True), "forgotten over a step-down"
    return seq


async def rising(c, connections):
    seqs, going = [], True

    async def publish():
        while going:
            seq, _ = await put(connections[len(seqs) % 3], f"ax.work.email.r{len(seqs)}", msg_id=f"r{len(seqs)}")
            seqs.append(seq)
    task = asyncio.create_task(publish())
    for _ in range(4):
        await c.step_down("AX_WORK")
        await eventually(lambda n=len(seqs): len(seqs) > n + 5, 20)
    going = False
    await task
    assert all(a < b for a, b in zip(seqs, seqs[1:])), seqs


async def one_winner(c, connections):
    for round_number in range(5):
        race = [put(nc, f"$KV.AX_LEASES.race{round_number}", expected=0) for nc in connections for _ in range(8)]
        changing = asyncio.create_task(c.step_down("KV_AX_LEASES"))
        answers = await asyncio.gather(*race)
        await changing
        won = [a for a in answers if a != 10071]
        # An answer that was lost with its leader looks like a loss to the winner itself.
        assert len(won) <= 1 and all(isinstance(a, tuple) for a in won), answers
        assert (await c.api("STREAM.INFO.KV_AX_LEASES", {"subjects_filter": f"$KV.AX_LEASES.race{round_number}"}))[
            "state"]["subjects"] == {f"$KV.AX_LEASES.race{round_number}": 1}


async def heard_everywhere(c, connections):
    heard = [set() for _ in connections]

    def listener(i):
        async def listen(msg):
            heard[i].add(msg.data)
        return listen
    for i, nc in enumerate(connections):
        await nc.subscribe("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.*", cb=listener(i))
        await nc.subscribe("$JS.ACK.AX_WORK.>", cb=listener(i))
        await nc.flush()

    # A subscription is known to the other nodes a little later than to its own.
    async def known_everywhere():
        for i, nc in enumerate(connections):
            for subject in ("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.nobody", "$JS.ACK.AX_WORK.nobody.1.1.1.1.0"):
                await nc.publish(subject, f"{subject} through {i}".encode())
        return all(len(h) == 2 * len(connections) for h in heard)
    await eventually(known_everywhere, 10, "the listeners are known at every node", every=0.1)
    probes, wanted = set(heard[0]), set()
    for _ in range(3):
        for i, nc in enumerate(connections):
            for subject in ("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", "$JS.ACK.AX_WORK.email.1.1.1.1.0"):
                data = f"-NAK {len(wanted)} through {i}".encode()
                wanted.add(data)
                await nc.publish(subject, data, reply=nc.new_inbox())
        await c.step_down("AX_WORK", "email")
    await eventually(lambda: all(h - probes == wanted for h in heard), 10, "each node's listener heard all pulls and acks")


async def leases_end(c, connections):
    seq, _ = await put(connections[0], "$KV.AX_LEASES.ends", expected=0, ttl="1s")
    await c.step_down("KV_AX_LEASES")
    assert await put(connections[1], "$KV.AX_LEASES.ends", expected=0) == 10071

    async def gone():
        answer = await put(connections[2], "$KV.AX_LEASES.ends", expected=0, ttl="1s")
        return answer != 10071 and answer[0] > seq
    await eventually(gone, 8, "the lease has ended although its leader changed", every=0.2)


async def test(ax):
    c = ax.cluster
    await ax.command(own("ax"), "init")
    reply = await ax.api("CONSUMER.CREATE.AX_WORK.email.ax.work.email.>", {"stream_name": "AX_WORK", "config": {
        "durable_name": "email", "name": "email", "ack_policy": "explicit", "filter_subject": "ax.work.email.>"}})
    assert "error" not in reply, reply
    await c.ready()
    connections = [await c.connection(node) for node in c.nodes]
    seq = await message_ids(c, connections)
    await leases_end(c, connections)
    await one_winner(c, connections)
    await rising(c, connections)
    await heard_everywhere(c, connections)

    # The node that leads AX_WORK dies: the others know the message id.
    dead = c.node(await c.leader("AX_WORK"))
    alive = connections[c.nodes.index(next(n for n in c.nodes if n is not dead))]
    dead.kill()
    assert await put(alive, "ax.work.email.a", msg_id="m1") == (seq, True), "forgotten over the death of its leader"


run(test, ingress=0, dispatch=0)
