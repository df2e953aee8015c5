# A request from a team's account may name any reply subject: the answer stays in the account of the sender. Nothing of
# AX's streams, buckets, settings and API changes, and nobody else hears of it, whatever the request is.
# ctest: timeout=120
import json

from accounts import run
from harness import eventually


def nasty(task):
    """Reply subjects that would do harm if the server published there with its own rights."""
    return ("$JS.API.STREAM.DELETE.AX_NORMAL", "$JS.API.STREAM.PURGE.KV_AX_DONE", "$JS.API.STREAM.PURGE.AX_HIGH",
            "$JS.API.CONSUMER.DELETE.AX_WORK.invoice", "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.invoice",
            "$JS.API.CONSUMER.INFO.AX_WORK.email", "$KV.AX_POOLS.invoice", f"$KV.AX_DONE.{task}", "$KV.AX_LEASES.invoice",
            f"ax.queue.normal.invoice.{task}", f"ax.later.normal.invoice.{task}", f"ax.dead.invoice.{task}",
            f"ax.work.invoice.{task}", "ax.acked.invoice", f"ax.cancel.invoice.{task}", f"ax.revoke.invoice.{task}",
            "ax.worker.invoice.w1", "ax.submit.normal.invoice", "_INBOX.shop-producer.x", "_INBOX_ingress.x",
            "$JS.ACK.AX_WORK.invoice.1.1.1.1.1", "$SYS.REQ.SERVER.PING", "_R_.x")


async def state(ax):
    """Everything that another team could lose or find changed."""
    streams = (await ax.api("STREAM.LIST"))["streams"]
    found = {s["config"]["name"]: (s["created"], s["state"]["messages"], s["state"]["last_seq"]) for s in streams
             if s["config"]["name"] not in ("KV_AX_LEASES", "AX_EVENTS")}
    found["email"] = [found.pop(n) for n in ("AX_HIGH", "AX_WORK", "KV_AX_DONE", "AX_DEAD", "AX_LATER")]
    subjects = [s for n in ("AX_HIGH", "AX_NORMAL", "AX_LOW", "AX_WORK", "AX_LATER", "AX_DEAD", "KV_AX_POOLS") for s in
                await ax.subjects(n)]
    found["invoice"] = sorted(s for s in subjects if "invoice" in s)
    found["consumer"] = (await ax.consumer("AX_WORK", "invoice"))["created"]
    return found


async def test(ax):
    await ax.pools("email", "newsletter", "invoice")
    mail, worker = await ax.seat("mail-producer").connect(), await ax.seat("mail-email").connect()
    shop = await ax.seat("shop-producer").connect()
    victim = (await ax.submit("secret of shop", "victim", "normal", "invoice", nc=shop))["task"]
    heard = []

    async def hear(msg):
        heard.append((msg.subject, msg.data[:60]))
    for subject in ("_INBOX.shop-producer.>",):
        await shop.subscribe(subject, cb=hear)
    # In the account AX: what is published to the API by anybody but AX's own, and to what other pools listen.
    for subject in ("ax.revoke.invoice.*", "ax.acked.invoice", "ax.cancel.invoice.*", "ax.worker.invoice.*", "ax.submit.*.invoice",
                    "$JS.API.STREAM.DELETE.*", "$JS.API.STREAM.PURGE.*", "$JS.API.CONSUMER.DELETE.*.*", "_INBOX_ingress.x"):
        await ax.nc.subscribe(subject, cb=hear)
    await ax.nc.flush()
    before = {k: v for k, v in (await state(ax)).items() if k != "email"}

    async def ack_subject():
        """The ack subject of a task of email that the worker holds."""
        inbox = worker.new_inbox()
        sub = await worker.subscribe(inbox)
        await ax.submit("x", nc=mail)
        await worker.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", b'{"batch":1,"expires":5000000000}', reply=inbox)
        msg = await sub.next_msg(timeout=5)
        await sub.unsubscribe()
        return msg.reply

    held = await ack_subject()
    sent = 0
    for reply in nasty(victim):
        for nc, subject, body in (
                (worker, "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", b'{"batch":1,"no_wait":true}'),
                (worker, "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", b"nonsense"),
                (worker, "$JS.API.CONSUMER.INFO.AX_WORK.email", b""),
                (worker, held, b"+WPI"), (worker, held, b"+NXT {\"batch\":1,\"no_wait\":true}"),
                (worker, "ax.worker.email.w1", b'{"capacity":1}'),
                (mail, "ax.submit.high.email", b"body"), (mail, "ax.submit.none.email", b"refused"),
                (mail, "ax.submit.high.newsletter", b"")):
            await nc.publish(subject, body, reply=reply)
            sent += 1
        # A task comes as the answer of a pull, too.
        await worker.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", b'{"batch":1,"expires":1000000000}', reply=reply)
    await worker.flush()
    await mail.flush()
    assert sent > 150
    # The server's own reply subjects cannot be given at all: an answer to $JS.ACK.… would be an ack of another pool.
    await eventually(lambda: len(ax.problems) == 20, 5, ax.problems)
    reserved = [sum(u == user and "publish with reply" in str(e) for u, e in ax.problems) for user in ("mail-email", "mail-producer")]
    assert reserved == [14, 6], ax.problems

    # All of it was taken as if the reply were an inbox: the last submission is stored, the daemons are ready.
    last = await ax.submit("x", "last", nc=mail)
    assert last["state"] == "queued"
    await eventually(lambda: ax.last("AX_HIGH", f"ax.queue.high.email.{last['task']}"), 5)
    for daemon in (ax.ingress, ax.dispatch):
        assert daemon.get("/readyz")[0] == 200
    after = {k: v for k, v in (await state(ax)).items() if k != "email"}
    assert after == before, (before, after)
    assert not heard, heard
    assert (await ax.record(victim)) is None

    # The other team goes on as if nothing had been.
    invoices = await ax.seat("shop-invoice").worker("invoice")
    await eventually(lambda: [t.key for t in invoices.finished] == ["victim"], 10)
    assert invoices.starts[0].body == b"secret of shop"
    again = await ax.submit("secret of shop", "victim", "normal", "invoice", nc=shop)
    assert again["duplicate"] and again["state"] in ("done", "running", "queued"), again
    assert json.loads((await ax.nc.request("$JS.API.STREAM.INFO.AX_NORMAL", b"")).data)["config"]["name"] == "AX_NORMAL"


run(test)
