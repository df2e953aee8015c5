"""The servers of a chaos run: one nats-server or a cluster of three, each on a small disk of its own where that is
allowed (a tmpfs in this process's own mount namespace), with every connection to and between them led through the proxy.
"""
import asyncio
import json
import os
import subprocess

import nats
import nats.errors

from harness import ROOT, Process, eventually, free_port, need

STORE_BYTES = 32 << 20  # max_file_store at the least…
TASK_BYTES = 2048       # and for each task that a run may bring
SPARE_BYTES = 64 << 20  # what the disk has beyond it
READY_S = 30
FILLER = "CHAOS_FILLER"


async def quiet(*_):
    pass


class Server(Process):
    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.port, self.monitor, self.route = free_port(), free_port(), free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self.disk = os.path.join(cluster.directory, f"disk-{number}")
        os.makedirs(self.disk)
        self.small_disk = cluster.may_mount and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={cluster.store_bytes + SPARE_BYTES}", "none", self.disk], capture_output=True).returncode == 0
        self.config = os.path.join(cluster.directory, f"server-{number}.conf")
        super().__init__(f"server-{number}", [need("nats-server", "AX_NATS_SERVER"), "-c", self.config], cluster.env,
                         cluster.directory)

    def write_config(self, routes):
        with open(self.config, "w") as f:
            f.write(f'listen: "127.0.0.1:{self.port}"\nserver_name: n{self.number}\nlogtime_utc: true\nhttp: "127.0.0.1:{self.monitor}"\n'
                    f'jetstream {{ store_dir: "{self.disk}/store", max_file_store: {self.cluster.store_bytes} }}\n')
            if self.cluster.size > 1:
                f.write(f'cluster {{ name: chaos, listen: "127.0.0.1:{self.route}", no_advertise: true,\n'
                        f'  routes: [{", ".join(f"nats://127.0.0.1:{port}" for port in routes)}] }}\n')

    async def ready(self, seconds=READY_S):
        """JetStream answers through this server."""
        async def check():
            assert self.running(), f"{self.name} ended"
            nc = await nats.connect(self.url, allow_reconnect=False, connect_timeout=1, error_cb=quiet)
            try:
                info = json.loads((await nc.request("$JS.API.INFO", b"", timeout=1)).data)
                assert "error" not in info, info["error"]
            finally:
                await nc.close()
            return True
        await eventually(check, seconds, f"{self.name} ready", every=0.1)

    def fill_disk(self):
        """Takes all that is left on the small disk."""
        info = os.statvfs(self.disk)
        with open(os.path.join(self.disk, "filler"), "wb", buffering=0) as f:
            try:
                os.posix_fallocate(f.fileno(), 0, max(info.f_bavail * info.f_bsize - 4096, 1))
                f.seek(0, os.SEEK_END)
                while f.write(b"\0" * 4096):
                    pass
            except OSError:
                pass  # full

    def free_disk(self):
        path = os.path.join(self.disk, "filler")
        if os.path.exists(path):
            os.truncate(path, 0)
            os.unlink(path)

    def unmount(self):
        if self.small_disk:
            subprocess.run(["umount", "-l", self.disk], capture_output=True)


class Servers:
    def __init__(self, directory, size, env, proxy, may_mount, tasks):
        self.store_bytes = STORE_BYTES + tasks * TASK_BYTES
        self.directory, self.size, self.env, self.proxy, self.may_mount = directory, size, env, proxy, may_mount
        self.servers = [Server(self, i) for i in range(size)]
        self.links = {}   # client → names of its links
        self.routes = []  # for each pair of servers the names of the two links between them
        ports = {}
        for a, b in ((a, b) for a in self.servers for b in self.servers if a is not b):
            name, ports[a, b] = f"route-{a.number}-{b.number}", free_port()
            proxy.say("link", name, ports[a, b], b.route)
            if a.number < b.number:
                self.routes.append((name, f"route-{b.number}-{a.number}"))
        for a in self.servers:
            a.write_config([ports[a, b] for b in self.servers if a is not b])
        self.nc = None

    async def start(self):
        for server in self.servers:
            server.start()
        for server in self.servers:
            await server.ready()
        self.nc = await nats.connect([s.url for s in self.servers], name="chaos", max_reconnect_attempts=-1,
                                     reconnect_time_wait=0.1, ping_interval=2, connect_timeout=2, error_cb=quiet,
                                     pending_size=1 << 26)

    def url_for(self, client):
        """The servers as this client is to know them: each behind a link of its own."""
        urls, self.links[client] = [], []
        for server in self.servers:
            name, port = f"{client}-{server.number}", free_port()
            self.proxy.say("link", name, port, server.port)
            self.links[client].append(name)
            urls.append(f"nats://127.0.0.1:{port}")
        return ",".join(urls)

    async def api(self, what, payload=b"", timeout=2):
        if not isinstance(payload, bytes):
            payload = json.dumps(payload).encode()
        return json.loads((await self.nc.request(f"$JS.API.{what}", payload, timeout=timeout)).data)

    async def stream(self, name, timeout=2):
        return await self.api(f"STREAM.INFO.{name}", timeout=timeout)

    async def add_stream(self, name, **fields):
        """One of AX's streams, by hand."""
        with open(os.path.join(ROOT, "streams", f"{name}.json")) as f:
            config = {**json.load(f), "num_replicas": self.size, **fields}

        async def create():
            reply = await self.api(f"STREAM.CREATE.{name}", config, 5)
            assert "error" not in reply, reply["error"]
            return True
        await eventually(create, 60, f"stream {name}", every=0.5)

    async def edit_stream(self, name, **fields):
        config = {**(await self.stream(name))["config"], **fields}
        reply = await self.api(f"STREAM.UPDATE.{name}", config, 10)
        assert "error" not in reply, reply

    async def edit_consumer(self, stream, name, **fields):
        config = {**(await self.api(f"CONSUMER.INFO.{stream}.{name}"))["config"], **fields}
        reply = await self.api(f"CONSUMER.DURABLE.CREATE.{stream}.{name}",
                               {"stream_name": stream, "config": config, "action": "update"}, 10)
        assert "error" not in reply, reply

    async def read(self, stream, first, limit=1000):
        """The messages from sequence `first` on, as far as they are stored: (seq, subject, headers, body, seconds)."""
        inbox = self.nc.new_inbox()
        sub = await self.nc.subscribe(inbox, pending_msgs_limit=-1, pending_bytes_limit=-1)
        found = []
        try:
            await self.nc.publish(f"$JS.API.DIRECT.GET.{stream}", json.dumps(
                {"seq": first, "batch": limit, "next_by_subj": ">"}).encode(), reply=inbox)
            while True:
                msg = await sub.next_msg(timeout=2)
                headers = msg.headers or {}
                if "Nats-Sequence" not in headers:
                    break  # 204: that is all, 404: nothing
                found.append((int(headers["Nats-Sequence"]), headers["Nats-Subject"], headers, msg.data,
                              seconds(headers["Nats-Time-Stamp"])))
        finally:
            await sub.unsubscribe()
        return found

    async def fill_store(self):
        """Fills what JetStream may still store (max_file_store); True when the servers said that there is no room."""
        try:
            await self.api(f"STREAM.CREATE.{FILLER}", {
                "name": FILLER, "subjects": ["chaos.filler"], "storage": "file", "retention": "limits",
                "num_replicas": self.size, "max_msgs": -1, "max_bytes": -1, "discard": "new"}, 5)
            full = False
            for size in (900_000, 50_000, 2_000):
                for _ in range(300):
                    reply = json.loads((await self.nc.request("chaos.filler", bytes(size), timeout=2)).data)
                    if "error" in reply:
                        full = True
                        break
            return full
        except (nats.errors.Error, asyncio.TimeoutError, OSError):
            return False  # something else is being done to it, too

    async def free_store(self):
        try:
            reply = await self.api(f"STREAM.DELETE.{FILLER}", timeout=3)
            return "error" not in reply or reply["error"]["code"] == 404
        except (nats.errors.Error, asyncio.TimeoutError, OSError):
            return False

    async def close(self):
        if self.nc:
            await asyncio.wait_for(self.nc.close(), 5)
        for server in self.servers:
            server.kill()
            server.unmount()


def seconds(text):
    """RFC 3339 with nanoseconds, UTC, as seconds since the epoch."""
    import calendar
    import time
    whole, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction or 0}")
