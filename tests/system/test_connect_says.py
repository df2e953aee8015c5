# Without a server a command says at once what it waits for, and gives up in time; a file that cannot be read is named,
# with the reason and the option.
# ctest: timeout=60
import asyncio
import os
import time

from harness import free_port, own, run


async def ax(directory, *args, program="ax"):
    began = time.monotonic()
    p = await asyncio.create_subprocess_exec(own(program), *args, stdout=asyncio.subprocess.PIPE,
                                             stderr=asyncio.subprocess.PIPE, env={"HOME": directory, "PATH": "/usr/bin"})
    out, err = await asyncio.wait_for(p.communicate(), 30)
    return p.returncode, err.decode(), time.monotonic() - began


async def test(rig):
    url = f"nats://127.0.0.1:{free_port()}"
    for command in (("status",), ("pool", "ls"), ("doctor",), ("submit", "x"), ("dead", "ls"), ("cron", "ls")):
        code, err, took = await ax(rig.directory, "-s", url, "--connect-timeout", "1s", *command)
        lines = err.splitlines()
        assert code != 0 and took < 6, (command, code, took)
        assert lines[0] == f"ax: no server at {url} yet, trying for 1s", (command, err)
        assert url in lines[1] and len(lines) == 2, (command, err)

    missing, text = os.path.join(rig.directory, "missing.pem"), os.path.join(rig.directory, "dir.pem")
    os.mkdir(text)
    for flag, variable in (("--creds", "NATS_CREDS"), ("--tlsca", "NATS_CA"), ("--tlscert", "NATS_CERT")):
        for path, why in ((missing, "No such file or directory"), (text, "Is a directory")):
            for program, command in (("ax", ("status",)), ("ax-ingress", ()), ("ax-dispatch", ())):
                code, err, _ = await ax(rig.directory, "-s", url, flag, path, *command, program=program)
                assert code != 0 and f"{flag} ({variable}): cannot read {path}: {why}" in err, (program, flag, err)
    code, err, _ = await ax(rig.directory, "-s", url, "--tlscert", __file__, "--tlskey", missing, "status")
    assert code != 0 and f"--tlskey (NATS_KEY): cannot read {missing}: No such file" in err, err


run(test, ingress=0, dispatch=0)
