"""A three-node JetStream cluster of real nats-servers on loopback, and AX's programs on it.

    async with Cluster(directory) as c: …          servers only
    run(test)                                      like harness.run: test(ax) with `ax.cluster` and the daemons on it

Clients without credentials are in the account AX; the system account's user is sys/sys (leaders of the meta group step
down through it). Nodes are n1, n2, n3; what leads what is told by these names.
"""
import asyncio
import json
import os
import socket
import urllib.error
import urllib.request

import harness
import nats
from harness import SLOW, Ax, Process, eventually, need

ACCOUNTS = """
accounts {
    SYS { users: [ { user: sys, password: sys } ] }
    AX { jetstream: enabled, users: [ { user: ax, password: ax } ] }
}
no_auth_user: ax
"""


def free_ports(count):
    """Ports free at the same time: ports asked for one after the other may be the same one."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


async def _quiet(_):
    pass


class Node(Process):
    """One nats-server. Beside Process's kill (-9), stop (SIGTERM), start, pause and resume: what it says of itself."""

    def __init__(self, cluster, name, host, ports, env, before):
        self.host, (self.port, self.route, self.monitor), self.paused = host, ports, False
        self.url = f"{cluster.scheme}://{host}:{self.port}"
        self.store = os.path.join(cluster.directory, f"store-{name}")
        self.conf = os.path.join(cluster.directory, f"{name}.conf")
        super().__init__(name, [*before, need("nats-server", "AX_NATS_SERVER"), "-c", self.conf], env,
                         cluster.directory)

    def pause(self):
        super().pause()
        self.paused = True

    def resume(self):
        super().resume()
        self.paused = False

    def kill(self):
        super().kill()
        self.paused = False

    def stop(self, seconds=20):
        self.paused = False
        return super().stop(seconds)

    def up(self):
        return self.running() and not self.paused

    def get(self, path):
        """An answer of the monitoring port; a dict."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.monitor}{path}", timeout=2) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return json.loads(error.read())

    def meta_leader(self):
        return self.get("/jsz").get("meta_cluster", {}).get("leader") or None


class Cluster:
    def __init__(self, directory, size=3, env=None, config="", accounts=ACCOUNTS, scheme="nats", ack_v2=False,
                 max_payload=None, jetstream="", connect=None, hosts=None, before=None, links=None):
        """config: further lines of every server's configuration; jetstream: within its jetstream block; connect: options
        of nats.connect for the questions asked here (default: the account AX). hosts: an address for each node;
        before: words before each node's command line (["ip", "netns", "exec", "a"] …). links: a Links
        (cluster_links.py) that all routes run through."""
        self.directory, self.scheme, self.connect_options = directory, scheme, connect or {}
        env = env if env is not None else {k: v for k, v in os.environ.items() if not k.startswith(("NATS_", "AX_"))}
        hosts = hosts or ["127.0.0.1"] * size
        ports = free_ports(size * 4)
        self.nodes = [Node(self, f"n{i + 1}", hosts[i], ports[i * 3:i * 3 + 3], env, before[i] if before else [])
                      for i in range(size)]
        self.links, self.proxies = links, {}
        for node, port in zip(self.nodes, ports[size * 3:]):
            self.proxies[node] = port if links else node.route
        peers = ", ".join(f'"nats://{n.host}:{self.proxies[n]}"' for n in self.nodes)
        for node in self.nodes:
            with open(node.conf, "w") as f:
                f.write(f'listen: "{node.host}:{node.port}"\nserver_name: {node.name}\n'
                        f'http: "{node.host}:{node.monitor}"\n'
                        f'jetstream {{ store_dir: "{node.store}"\n{jetstream}\n}}\n'
                        f'cluster {{ name: axc, listen: "{node.host}:{node.route}", '
                        f'advertise: "{node.host}:{self.proxies[node]}", routes: [{peers}] }}\n'
                        f'{accounts}\n'
                        + ("system_account: SYS\n" if accounts else "")
                        + (f"max_payload: {max_payload}\n" if max_payload else "")
                        + ("feature_flags { js_ack_fc_v2: true }\n" if ack_v2 else "") + config + "\n")
        self.urls = [node.url for node in self.nodes]
        self.url = ",".join(self.urls)
        self._connections = {}

    # ---- life

    async def start(self, seconds=30):
        for node in self.nodes:
            if self.links:
                await self.links.listen(self.proxies[node], node.route)
            node.start()
        await self.healthy(seconds)
        return self

    async def close(self):
        for nc in self._connections.values():
            await self._end(nc)
        self._connections.clear()
        for node in self.nodes:
            node.kill()
        if self.links:
            self.links.close()

    async def __aenter__(self):
        try:
            return await self.start()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(self, *_):
        await self.close()

    @staticmethod
    async def _end(nc):
        try:
            await asyncio.wait_for(nc.close(), 2)
        except Exception:  # noqa: BLE001  it is gone either way
            pass

    def node(self, name):
        return next(n for n in self.nodes if n.name == name)

    def up(self):
        return [n for n in self.nodes if n.up()]

    async def healthy(self, seconds=60):
        """Waits until all nodes that run are healthy (their replicas current) and agree on a meta leader that runs and
        knows them."""
        def check():
            nodes = self.up()
            for node in self.nodes:
                assert node.p is None or node.running(), f"{node.name} ended with {node.p.returncode}"
            for node in nodes:
                health = node.get("/healthz")
                assert health["status"] == "ok", f"{node.name}: {health}"
            names = {n.name for n in nodes}
            leaders = {node.meta_leader() for node in nodes}
            assert len(leaders) == 1 and leaders <= names, f"meta leaders: {leaders}"
            peers = self.node(leaders.pop()).get("/jsz")["meta_cluster"].get("replicas") or []
            known = {peer["name"] for peer in peers if peer.get("current") and not peer.get("offline")}
            assert len(known & names) == len(nodes) - 1, f"the meta leader knows {known}"
            return True
        await eventually(check, seconds, "all nodes healthy", every=0.1)

    async def ready(self, seconds=60):
        """healthy, and every stream and consumer has a leader that runs and replicas that are current."""
        await self.healthy(seconds)

        async def check():
            running = {n.name for n in self.up()}
            for what, group in (await self.groups()).items():
                assert group.get("leader") in running, f"{what}: led by {group.get('leader')}"
                for peer in group.get("replicas") or []:
                    current = peer["name"] not in running or peer.get("current") and not peer.get("offline")
                    assert current, f"{what}: {peer}"
            return True
        await eventually(check, seconds, "all streams and consumers have leaders and current replicas", every=0.1)

    async def restart(self, node, hard=True, seconds=60):
        """kill -9 (or SIGTERM), start again, wait until everything is in order."""
        if hard:
            node.kill()
        else:
            node.stop()
        node.start()
        await self.ready(seconds)

    # ---- questions to the server; asked through any node that runs, on connections of our own

    async def connection(self, node, system=False):
        key = node.name, system
        nc = self._connections.get(key)
        if nc is not None and nc.is_connected:
            return nc
        if nc is not None:
            await self._end(nc)
        options = {**self.connect_options, **({"user": "sys", "password": "sys"} if system else {})}
        nc = await nats.connect(node.url, name="cluster", allow_reconnect=False, connect_timeout=2, error_cb=_quiet,
                                **options)
        self._connections[key] = nc
        return nc

    async def api(self, what, payload=b"", node=None, system=False, timeout=5):
        """A JetStream API request; KeyError when it is answered with an error."""
        node = node or self.up()[0]
        nc = await self.connection(node, system)
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        reply = json.loads((await nc.request(f"$JS.API.{what}", data, timeout=timeout * SLOW)).data)
        if "error" in reply:
            raise KeyError(f"{what}: {reply['error']['description']}")
        return reply

    async def _list(self, what, array):
        found = []
        while True:
            reply = await self.api(what, {"offset": len(found)})
            if reply.get("missing"):
                raise KeyError(f"{reply['missing']}: no leader")
            found += reply.get(array) or []
            if len(found) >= reply.get("total", 0):
                return found

    async def groups(self):
        """{"AX_HIGH": its cluster field, "AX_HIGH/email": the consumer's}; KeyError while one has no leader."""
        found = {}
        for stream in await self._list("STREAM.LIST", "streams"):
            name = stream["config"]["name"]
            found[name] = stream.get("cluster") or {}
            for consumer in await self._list(f"CONSUMER.LIST.{name}", "consumers"):
                found[f"{name}/{consumer['name']}"] = consumer.get("cluster") or {}
        return found

    async def leaders(self):
        """{"meta": "n1", "AX_HIGH": "n2", "AX_HIGH/email": "n3", …}"""
        return {"meta": self.meta_leader(), **{what: g.get("leader") for what, g in (await self.groups()).items()}}

    def meta_leader(self):
        """Name of the node that leads the meta group, None for now."""
        for node in self.up():
            try:
                leader = node.meta_leader()
            except OSError:
                continue
            if leader and self.node(leader).up():
                return leader
        return None

    async def leader(self, stream, consumer=None):
        """Name of the node that leads a stream or a consumer."""
        what = f"CONSUMER.INFO.{stream}.{consumer}" if consumer else f"STREAM.INFO.{stream}"
        # Not answered while there is none, and not refused either where somebody listens to the same subject.
        return (await self.api(what, timeout=0.5)).get("cluster", {}).get("leader")

    # ---- leader changes; each waits until another node leads

    async def step_down(self, stream, consumer=None, to=None, seconds=30):
        """The leader of a stream or consumer gives way (to: the node that shall lead); the new leader's name."""
        before = await self.leader(stream, consumer)
        where = f"CONSUMER.LEADER.STEPDOWN.{stream}.{consumer}" if consumer else f"STREAM.LEADER.STEPDOWN.{stream}"
        await self.api(where, {"placement": {"preferred": to}} if to else b"")

        async def moved():
            now = await self.leader(stream, consumer)
            return now if now and (now == to if to else now != before) else None
        return await eventually(moved, seconds, f"another leader of {stream} {consumer or ''} than {before}")

    async def step_down_meta(self, seconds=30):
        before = self.meta_leader()
        await self.api("META.LEADER.STEPDOWN", system=True)

        def moved():
            now = self.meta_leader()
            return now if now and now != before else None
        return await eventually(moved, seconds, f"another meta leader than {before}")


class ClusterAx(Ax):
    """Ax on a cluster. Its streams and consumers have three replicas: AX_REPLICAS=3 for all its programs."""

    def __init__(self, cluster=None, replicas=3, **options):
        super().__init__(**options)
        self.cluster_options = cluster or {}
        if replicas:
            self.env["AX_REPLICAS"] = str(replicas)

    async def start_server(self):
        self.cluster = Cluster(self.directory, env=dict(self.env), config=self.config, ack_v2=self.ack_v2,
                               max_payload=self.max_payload, **self.cluster_options)
        self.processes += self.cluster.nodes
        self.server = None
        self.url = self.cluster.url
        self.env["NATS_URL"] = self.url
        await self.cluster.start()

    def servers(self):
        return self.cluster.urls

    async def close(self, failed=False):
        await super().close(failed)
        if hasattr(self, "cluster"):
            await self.cluster.close()


def run(test, seconds=110, **options):
    harness.run(test, seconds, make=ClusterAx, **options)
