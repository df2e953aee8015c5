# compose.yaml is valid by the compose specification, and its commands, environment, mounts and health checks work on
# the programs of this build: passwords are made before the server starts, the server's configuration takes them, the
# daemons read theirs, and two teams work side by side, each in its own account.
import os
import re
import shutil
import subprocess

import nats.errors
from compose_spec import PyCompose

import harness
from accounts import Seat
from harness import ROOT, Ax, eventually, free_port, need, own

TEXT = open(os.path.join(ROOT, "compose.yaml")).read()


def check_specification(text):
    PyCompose.from_yaml(text).to_spec()
    # The check must be one that can fail.
    for broken in (text.replace("healthcheck:", "healthchek:"), text.replace("service_healthy", "healthy")):
        try:
            PyCompose.from_yaml(broken).to_spec()
        except Exception:  # noqa: BLE001  the library has no public class for it
            continue
        raise AssertionError("a broken compose file passes for valid")


class Compose(Ax):
    """A directory a service in place of its container, a directory a volume that they share."""

    shared_inbox = False

    def __init__(self, **options):
        super().__init__(**options)
        check_specification(TEXT)
        self.services = PyCompose.from_yaml(TEXT).to_dict()["services"]
        self.problems = []

    def root(self, name):
        return os.path.join(self.directory, f"root-{name}")

    def inside(self, name, text):
        """Paths of the container, where they are here."""
        return re.sub(r"(?<![\w/.])/(?=etc/|var/)", self.root(name) + "/", text)

    def mount(self, name):
        for volume in self.services[name].get("volumes", []):
            source, target = volume.split(":")[:2]
            target = self.inside(name, target)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if source.startswith("./"):
                shutil.copy(os.path.join(ROOT, source), target)
            else:
                store = os.path.join(self.directory, source)
                os.makedirs(store, mode=0o700, exist_ok=True)
                os.symlink(store, target)

    async def start_server(self):
        assert set(self.services) == {"access", "nats", "ingress", "dispatch"}, set(self.services)
        access = self.services["access"]
        self.mount("access")
        # The volume is the directory itself here, since `ax access` follows no links; the image makes it private.
        folder = self.inside("access", access["working_dir"])
        os.remove(os.path.join(folder, "passwords"))
        os.rename(os.path.join(self.directory, "passwords"), os.path.join(folder, "passwords"))
        os.symlink(os.path.join(folder, "passwords"), os.path.join(self.directory, "passwords"))
        for _ in range(2):  # a second start changes nothing
            program, *args = access["command"]
            done = subprocess.run([own(program), *args], cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        assert done.stdout == open(os.path.join(ROOT, "deploy", "nats-accounts.conf")).read()
        assert access["restart"] == "no"
        assert self.services["nats"]["depends_on"]["access"]["condition"] == "service_completed_successfully"

        version = re.search(r"^NATS_SERVER_VERSION=(\S+)", open(os.path.join(ROOT, "scripts", "versions.sh")).read(), re.M)
        assert self.services["nats"]["image"].startswith(f"nats:{version[1]}-"), self.services["nats"]["image"]
        self.mount("nats")
        conf = self.inside("nats", "/etc/nats/nats-server.conf")
        text = open(conf).read()
        for before, after in (("0.0.0.0:4222", f"127.0.0.1:{self.port}"), ("127.0.0.1:8222", f"127.0.0.1:{self.monitor}"),
                              ("/var/lib/nats", self.inside("nats", "/var/lib/nats"))):
            assert before in text
            text = text.replace(before, after)
        with open(conf, "w") as f:
            f.write(text)
        command = [self.inside("nats", a) for a in self.services["nats"]["command"]]
        self.server = self.spawn("nats-server", [need("nats-server", "AX_NATS_SERVER"), *command])
        operator = Seat(self, "operator")
        self.connect_options = {"user": "operator", "password": operator.password}
        await self.server_ready()


async def test(ax):
    processes = []
    for name in ("ingress", "dispatch"):
        service = ax.services[name]
        assert os.path.exists(os.path.join(ROOT, service["build"]["dockerfile"]))
        ax.mount(name)
        port = str(free_port())
        program, *args = [a.replace("8420", port) for a in service["command"]]
        env = {k: ax.inside(name, str(v)) for k, v in service["environment"].items()}
        assert env["NATS_URL"] == "nats://nats:4222"
        env["NATS_URL"] = env["NATS_URL"].replace("nats:4222", f"127.0.0.1:{ax.port}")
        process = ax.spawn(f"compose-{name}", [own(program), *args], env)
        processes.append(process)
        kind, *probe = service["healthcheck"]["test"]
        assert kind == "CMD", kind
        probe = [a.replace("8420", port) for a in probe]
        unhealthy = subprocess.run([a.replace(port, str(free_port())) for a in probe], capture_output=True)
        assert unhealthy.returncode != 0, "the health check passes where nobody listens"

        def healthy():
            assert process.running(), process.log()
            return subprocess.run(probe, capture_output=True).returncode == 0
        await eventually(healthy, 20, f"{name} healthy by compose.yaml's check")

    mail, shop = await Seat(ax, "mail-producer").connect(), await Seat(ax, "shop-producer").connect()
    emails, invoices = await Seat(ax, "mail-email").worker("email"), await Seat(ax, "shop-invoice").worker("invoice")
    await ax.submit("x", "key", "high", nc=mail)
    await ax.submit("x", "key", "low", "invoice", nc=shop)
    await ax.settled(done=2)
    assert [len(w.finished) for w in (emails, invoices)] == [1, 1] and not ax.problems
    try:
        await ax.submit("x", "key", "low", "email", nc=shop, timeout=1)
        raise AssertionError("shop submits to mail")
    except nats.errors.Error:
        assert "ax.submit.low.email" in str(ax.problems), ax.problems
    for process in processes:
        assert process.stop() == 0, process.log()


harness.run(test, make=Compose, ingress=0, dispatch=0)
