# Submissions whose headers are a hundred thousand lines long, on four connections: refused before they are read.
# ctest: timeout=120
# ctest: timed
from flood import keeps_to_memory
from harness import Refused, run


async def test(ax):
    headers = {f"{i}": "" for i in range(100000)}
    await keeps_to_memory(ax, 64, b"x", "_INBOX.flood", headers)
    try:
        await ax.submit("x", headers={"Trace": "x" * 70000})
        raise AssertionError("accepted")
    except Refused as refused:
        assert refused.code == 400 and "headers of 70" in str(refused), refused.error


run(test, ingress_args=["--max-memory", "64MiB"])
