# Teams in accounts of their own: whatever a producer or a worker publishes, and whatever reply subject it names, nothing of
# another team and nothing of AX's own is read, changed, delayed or forged. Prints the matrix role × action.
# ctest: timeout=150
from accounts import run
from harness import eventually
from matrix import VICTIM, Ears, Matrix, requests_of_worker, submissions, traffic


async def test(ax):
    await ax.pools("email", "newsletter", VICTIM)
    matrix = Matrix(ax)
    await matrix.listen()
    await matrix.check_itself()
    producer, worker = await ax.seat("mail-producer").connect(), await ax.seat("mail-email").connect()
    seats = {"producer": (producer, "_INBOX.mail-producer"), "worker": (worker, "_INBOX.mail-email")}
    ears = {role: Ears() for role in seats}
    for role, (nc, inbox) in seats.items():
        await ears[role].open(nc, inbox)

    requests = {"producer": submissions("email"), "worker": requests_of_worker("email")}
    for role, (nc, _) in seats.items():
        await matrix.play(role, nc, requests[role])
    await matrix.play_acks("worker", worker, "email", lambda: ax.submit(b"x", nc=producer))
    await matrix.settle([(producer, requests["producer"]["submission"]), (worker, requests["worker"]["info"])])
    await traffic(ax, await ax.seat("shop-producer").connect(), ax.seat("shop-invoice"))
    matrix.print()
    assert not matrix.reached(), sorted(matrix.reached())
    # Each team's own replies are its own affair; what the other team said and what AX answered it is not heard.
    foreign = {role: [h for h in e.heard if VICTIM in h[0] or b"secret" in h[1] or "shop" in h[0]]
               for role, e in ears.items()}
    # What a role sent with such a reply subject comes back in its own account, where nobody else listens.
    own = set(matrix.cells.values())
    assert not [h for hs in foreign.values() for h in hs if h[0] not in own], foreign

    # The streams are as they were, and the daemons work.
    for stream in ("AX_HIGH", "AX_NORMAL", "AX_LOW", "AX_WORK", "AX_LATER", "AX_SPILL", "AX_DEAD", "KV_AX_DONE",
                   "KV_AX_POOLS", "KV_AX_LEASES"):
        await ax.stream(stream)
    for daemon in ax.ingresses + ax.dispatches:
        await eventually(lambda d=daemon: d.get("/readyz")[0] == 200, 5, f"{daemon.name} is ready")


run(test, seconds=120)
