# compose.yaml is valid by the compose specification, and its commands, environment and health checks work on the
# programs of this build; so does the server configuration it mounts.
import os
import re
import subprocess

from compose_spec import PyCompose

from harness import ROOT, eventually, free_port, need, own, run


def check_specification(text):
    PyCompose.from_yaml(text).to_spec()
    # The check must be one that can fail.
    for broken in (text.replace("healthcheck:", "healthchek:"), text.replace("service_healthy", "healthy")):
        try:
            PyCompose.from_yaml(broken).to_spec()
        except Exception:  # noqa: BLE001  the library has no public class for it
            continue
        raise AssertionError("a broken compose file passes for valid")


async def test(ax):
    text = open(os.path.join(ROOT, "compose.yaml")).read()
    check_specification(text)
    services = PyCompose.from_yaml(text).to_dict()["services"]
    assert set(services) == {"nats", "ingress", "dispatch"}, set(services)

    conf = os.path.join(ROOT, "deploy", "nats-server.conf")
    version = re.search(r"^NATS_SERVER_VERSION=(\S+)", open(os.path.join(ROOT, "scripts", "versions.sh")).read(), re.M)
    assert services["nats"]["image"].startswith(f"nats:{version[1]}-"), services["nats"]["image"]
    assert services["nats"]["command"] == ["-c", "/etc/nats/nats-server.conf"]
    await ax.command(need("nats-server", "AX_NATS_SERVER"), "-t", "-c", conf)

    for name in ("ingress", "dispatch"):
        service = services[name]
        assert os.path.exists(os.path.join(ROOT, service["build"]["dockerfile"]))
        port = str(free_port())
        program, *args = [a.replace("8420", port) for a in service["command"]]
        env = {k: str(v) for k, v in service["environment"].items()}
        assert env["NATS_URL"] == "nats://nats:4222"
        env["NATS_URL"] = env["NATS_URL"].replace("nats:4222", f"127.0.0.1:{ax.port}")
        process = ax.spawn(f"compose-{name}", [own(program), *args], env)
        kind, *probe = service["healthcheck"]["test"]
        assert kind == "CMD", kind
        probe = [a.replace("8420", port) for a in probe]
        unhealthy = subprocess.run([a.replace(port, str(free_port())) for a in probe], capture_output=True)
        assert unhealthy.returncode != 0, "the health check passes where nobody listens"

        def healthy():
            assert process.running(), process.log()
            return subprocess.run(probe, capture_output=True).returncode == 0
        await eventually(healthy, 20, f"{name} healthy by compose.yaml's check")

    await ax.worker("email")
    await ax.submit("x", "key", "high")
    await ax.settled(done=1)
    for process in ax.processes[1:]:
        assert process.stop() == 0, process.log()


run(test, ingress=0, dispatch=0)
