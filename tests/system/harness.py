"""What the system tests are built on: a real nats-server, the daemons, producers and workers.

A test is `async def test(ax): …` and `run(test)`; everything it starts lives in a temporary directory and dies with it.
Environment: AX_BIN_DIR (ax, ax-ingress, ax-dispatch), AX_NATS_SERVER and AX_NATS (programs), AX_SANITIZE (set by ctest
for sanitizer builds), AX_TEST_SLOW (factor on every time limit), AX_TEST_ACK_V2=1 (the server's longer ack subjects),
AX_TEST_KEEP=1 (keep the directory).
"""
import asyncio
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

import wire

SKIP = 77
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ax")
SANITIZE = os.environ.get("AX_SANITIZE", "")
SLOW = float(os.environ.get("AX_TEST_SLOW") or (4 if SANITIZE else 1))
LEASE_TTL = 5 if SANITIZE else 2  # s: a killed dispatcher's pools wait for so long
QUEUES = {"high": "AX_HIGH", "normal": "AX_NORMAL", "low": "AX_LOW"}

try:
    import nats
    import nats.errors
    import nats.js.errors
except ImportError:
    print("SKIPPED: python has no nats-py (scripts/setup installs it)")
    sys.exit(SKIP)


def skip(why):
    print(f"SKIPPED: {why}", flush=True)
    sys.exit(SKIP)


def program(name, variable=None):
    """Path of a program: the variable, AX's cache, PATH."""
    for path in (os.environ.get(variable or ""), os.path.join(CACHE, "bin", name), shutil.which(name)):
        if path and os.access(path, os.X_OK):
            return path
    return None


def need(name, variable=None):
    return program(name, variable) or skip(f"{name} not found")


def own(name):
    """Path of one of AX's programs."""
    directory = os.environ.get("AX_BIN_DIR")
    if not directory:
        sys.exit("AX_BIN_DIR is not set: the directory with ax, ax-ingress and ax-dispatch")
    return os.path.join(directory, name)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: nothing outlives the test, however it ends


async def eventually(check, seconds=10, what=None, every=0.02):
    """Waits until check() (plain or async) is true and returns its value; fails with `what` and the last exception."""
    deadline = time.monotonic() + seconds * SLOW
    last = None
    while True:
        try:
            value = check()
            if asyncio.iscoroutine(value):
                value = await value
            if value:
                return value
            last = value
        except (AssertionError, nats.errors.Error, nats.js.errors.Error, OSError, KeyError) as error:
            last = error
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds * SLOW:g} s: {what or check}; last: {last!r}")
        await asyncio.sleep(every)


class Process:
    """A child process with a log file; started again under the same name it appends to it."""

    def __init__(self, name, argv, env, directory):
        self.name, self.argv, self.env, self.directory = name, argv, env, directory
        self.log_path = os.path.join(directory, f"{name}.log")
        self.p = None

    def start(self):
        with open(self.log_path, "ab") as log:
            self.p = subprocess.Popen(self.argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env,
                                      cwd=self.directory, preexec_fn=_child)
        return self

    def running(self):
        return self.p is not None and self.p.poll() is None

    def kill(self):
        if self.running():
            self.p.send_signal(signal.SIGCONT)
            self.p.kill()
            self.p.wait()
        self.p = None

    def pause(self):
        self.p.send_signal(signal.SIGSTOP)

    def resume(self):
        self.p.send_signal(signal.SIGCONT)

    def stop(self, seconds=10):
        """SIGTERM; the exit code."""
        if self.p is None:
            return 0
        self.p.send_signal(signal.SIGCONT)
        self.p.send_signal(signal.SIGTERM)
        try:
            code = self.p.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not stop within {seconds * SLOW:g} s of SIGTERM") from None
        self.p = None
        return code

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()


class Daemon(Process):
    """ax-ingress or ax-dispatch, ready when /readyz says so."""

    def __init__(self, ax, name, program_name, args=()):
        self.port = free_port()
        super().__init__(name, [own(program_name), "--http", str(self.port), *args], ax.env, ax.directory)
        self.checked = program_name

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    async def ready(self, seconds=20):
        def check():
            assert self.running(), f"{self.name} ended with {self.p.returncode if self.p else None}"
            status, text = self.get("/readyz")
            assert status == 200, text
            return True
        await eventually(check, seconds, f"{self.name} ready")

    async def restart(self, hard=True):
        if hard:
            self.kill()
        else:
            code = self.stop()
            assert code == 0, f"{self.name} ended with {code} on SIGTERM"
        self.start()
        await self.ready()

    def metric(self, name):
        """Sum of a metric's samples in /metrics; None when there is none."""
        values = re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? ([-+.eE0-9]+)$", self.get("/metrics")[1], re.M)
        return sum(map(float, values)) if values else None


class Task:
    """A hand-off as its worker sees it."""

    def __init__(self, msg):
        self.msg, self.headers, self.body = msg, msg.headers or {}, msg.data
        self.id = self.headers.get("Ax-Task")
        self.key = self.headers.get("Ax-Key")
        self.priority = self.headers.get("Ax-Priority")
        self.attempt = int(self.headers.get("Ax-Attempt", 0))
        tokens = msg.reply.split(".")
        at = 4 if len(tokens) == 9 else 6  # both forms of ack subject
        self.delivered, self.fence = int(tokens[at]), int(tokens[at + 1])
        self.stored = int(tokens[at + 3]) / 1e9  # by the server's clock: when it was handed over
        self.started = time.monotonic()
        self.ended = None
        self.worker = None

    async def progress(self):
        await self.msg._client.publish(self.msg.reply, b"+WPI")


class Worker:
    """A plain pull worker: `pulls` pull requests of `batch` wait side by side, the messages of each are worked in turn.

    handler(task) returns None or "ack", "nak", ("nak", seconds), ("term", reason), "silence".
    """

    def __init__(self, ax, pool, handler=None, pulls=4, batch=1, expires=2.0, name="worker", record=True):
        self.ax, self.pool, self.handler, self.pulls, self.batch = ax, pool, handler, pulls, batch
        self.expires, self.name, self.record = expires, name, record
        self.starts, self.finished = [], []
        self.slots, self.stopping = [], False

    async def start(self):
        self.nc = await self.ax.connect(self.name)
        self.slots = [asyncio.create_task(self._slot()) for _ in range(self.pulls)]
        return self

    async def _slot(self):
        inbox = self.nc.new_inbox()
        sub = await self.nc.subscribe(inbox, pending_msgs_limit=-1, pending_bytes_limit=-1)
        request = json.dumps({"batch": self.batch, "expires": int(self.expires * 1e9)}).encode()
        while not self.stopping:
            try:
                await self.nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.AX_WORK.{self.pool}", request, reply=inbox)
                got = 0
                while got < self.batch:
                    msg = await sub.next_msg(timeout=self.expires + 1)
                    if not msg.reply:  # 404, 408, 409: this pull is over
                        if (msg.headers or {}).get("Status") != "408":
                            await asyncio.sleep(0.05)
                        break
                    got += 1
                    await self._work(Task(msg))
            except nats.errors.TimeoutError:
                pass
            except nats.errors.Error:
                await asyncio.sleep(0.05)

    async def _work(self, task):
        task.worker = self
        self.starts.append(task)
        answer = await self.handler(task) if self.handler else "ack"
        task.ended = time.monotonic()
        kind, detail = answer if isinstance(answer, tuple) else (answer or "ack", None)
        if kind == "ack":
            data = b""
        elif kind == "nak":
            data = b"-NAK" if detail is None else b"-NAK " + json.dumps({"delay": int(detail * 1e9)}).encode()
        elif kind == "term":
            data = b"+TERM " + detail.encode() if detail else b"+TERM"
        elif kind == "silence":
            return
        else:
            raise ValueError(kind)
        await self.nc.publish(task.msg.reply, data)
        self.finished.append(task)

    async def stop(self):
        """Lets go of waiting pulls; tasks at work are dropped without an ack."""
        self.stopping = True
        for slot in self.slots:
            slot.cancel()
        results = await asyncio.gather(*self.slots, return_exceptions=True)
        await self.nc.close()
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, asyncio.CancelledError):
                raise result

    def check(self):
        """A slot that fell over would only look like a slow worker: say it."""
        for slot in self.slots:
            if slot.done() and not slot.cancelled() and slot.exception():
                raise slot.exception()


class Refused(Exception):
    def __init__(self, reply):
        self.error = reply["error"]
        self.code, self.err_code = self.error["code"], self.error["err_code"]
        super().__init__(self.error["description"])


class Ax:
    def __init__(self, ingress=1, dispatch=1, max_payload=None, ack_v2=None, config="", ingress_args=(),
                 dispatch_args=()):
        self.directory = tempfile.mkdtemp(prefix="ax-test-")
        self.counts = ingress, dispatch
        self.ingress_args, self.dispatch_args = ingress_args, dispatch_args
        self.port = free_port()
        self.monitor = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("NATS_", "AX_"))}
        self.env.update(NATS_URL=self.url, HOME=self.directory, XDG_CONFIG_HOME=self.directory)
        self.env["AX_LEASE_TTL"] = f"{LEASE_TTL}s"
        self.max_payload = max_payload
        self.ack_v2 = os.environ.get("AX_TEST_ACK_V2") == "1" if ack_v2 is None else ack_v2
        self.config = config
        self.connect_options = {}  # of nats.connect, for servers that ask who comes
        self.processes, self.workers, self.connections = [], [], []
        self._batches, self._alone = {}, set()

    # ---- life

    async def __aenter__(self):
        try:
            await self._start()
        except BaseException:
            await self.close(failed=True)
            raise
        return self

    async def _start(self):
        await self.start_server()
        self.nc = await self.connect("test")
        self.js = self.nc.jetstream()
        self.ingresses = [self.daemon("ax-ingress", i, self.ingress_args) for i in range(self.counts[0])]
        self.dispatches = [self.daemon("ax-dispatch", i, self.dispatch_args) for i in range(self.counts[1])]
        self.ingress = self.ingresses[0] if self.ingresses else None
        self.dispatch = self.dispatches[0] if self.dispatches else None
        for d in self.ingresses + self.dispatches:
            await d.ready()

    async def start_server(self):
        conf = os.path.join(self.directory, "nats.conf")
        with open(conf, "w") as f:
            f.write(f'listen: "127.0.0.1:{self.port}"\nserver_name: ax-test\n'
                    f'http: "127.0.0.1:{self.monitor}"\n'
                    f'jetstream {{ store_dir: "{self.directory}/store" }}\n')
            if self.max_payload:
                f.write(f"max_payload: {self.max_payload}\n")
            if self.ack_v2:
                f.write("feature_flags { js_ack_fc_v2: true }\n")
            f.write(self.config + "\n")
        self.server = self.spawn("nats-server", [need("nats-server", "AX_NATS_SERVER"), "-c", conf])
        await self.server_ready()

    def servers(self):
        """URLs of all servers a client may connect to."""
        return [self.url]

    def spawn(self, name, argv, env=None):
        process = Process(name, argv, {**self.env, **(env or {})}, self.directory)
        self.processes.append(process)
        return process.start()

    def daemon(self, name, number=0, args=()):
        d = Daemon(self, name if number == 0 else f"{name}-{number}", name, args)
        self.processes.append(d)
        return d.start()

    async def server_ready(self):
        async def check():
            assert self.server.running(), "nats-server ended"
            nc = await nats.connect(self.url, allow_reconnect=False, connect_timeout=2, error_cb=_quiet,
                                    **self.connect_options)
            try:
                await nc.request("$JS.API.INFO", b"", timeout=2)
            finally:
                await nc.close()
            return True
        await eventually(check, 20, "nats-server with JetStream ready")

    async def connect(self, name="test"):
        nc = await nats.connect(self.servers(), name=name, max_reconnect_attempts=-1, reconnect_time_wait=0.05,
                                connect_timeout=5, error_cb=_quiet, disconnected_cb=_quiet_none, pending_size=1 << 26,
                                **self.connect_options)
        self.connections.append(nc)
        return nc

    async def close(self, failed=False):
        problems = []
        for worker in self.workers:
            try:
                await asyncio.wait_for(worker.stop(), 5)
            except Exception as error:  # noqa: BLE001  the test's own failure matters more
                problems.append(error)
        for nc in self.connections:
            try:
                if not nc.is_closed:
                    await asyncio.wait_for(nc.close(), 2)
            except Exception:  # noqa: BLE001
                pass
        for process in reversed(self.processes):
            if isinstance(process, Daemon) and not failed and process.p is not None:
                try:
                    code = process.stop()
                    if code != 0:
                        problems.append(AssertionError(f"{process.name} ended with {code} on SIGTERM"))
                except AssertionError as error:
                    problems.append(error)
            if isinstance(process, Daemon) and process.p is not None and process.p.poll() not in (None, 0):
                problems.append(AssertionError(f"{process.name} had ended with {process.p.returncode}"))
            process.kill()
        if failed or problems:
            self.print_logs()
        if os.environ.get("AX_TEST_KEEP") == "1":
            print(f"kept {self.directory}")
        else:
            shutil.rmtree(self.directory, ignore_errors=True)
        if problems and not failed:
            raise problems[0]

    async def __aexit__(self, kind, error, _):
        if error is not None:
            await self.print_streams()
        await self.close(failed=error is not None)

    def print_logs(self, lines=60):
        for process in self.processes:
            text = process.log().splitlines()
            print(f"---- {process.name} ({len(text)} lines, pid {process.p.pid if process.p else None})")
            print("\n".join(text[-lines:]), flush=True)

    async def print_streams(self):
        try:
            reply = await self.api("STREAM.LIST")
            for s in reply.get("streams") or []:
                state = s["state"]
                print(f"---- {s['config']['name']}: {state['messages']} messages, seq {state['first_seq']}"
                      f"..{state['last_seq']}, limit {s['config']['max_msgs']}")
                consumers = await self.api(f"CONSUMER.LIST.{s['config']['name']}", b'{"offset":0}')
                for c in consumers.get("consumers") or []:
                    print(f"       {c['name']}: pending {c['num_pending']} unacked {c['num_ack_pending']} "
                          f"waiting {c['num_waiting']} redelivered {c['num_redelivered']} "
                          f"ack_wait {c['config'].get('ack_wait', 0) / 1e9:g} s")
        except Exception as error:  # noqa: BLE001
            print(f"---- no stream states: {error!r}")

    # ---- server side

    async def api(self, what, payload=b"", timeout=5):
        if not isinstance(payload, bytes):
            payload = json.dumps(payload).encode()
        return json.loads((await self.nc.request(f"$JS.API.{what}", payload, timeout=timeout * SLOW)).data)

    async def stream(self, name):
        reply = await self.api(f"STREAM.INFO.{name}")
        if "error" in reply:
            raise KeyError(f"{name}: {reply['error']['description']}")
        return reply

    async def messages(self, *names):
        return sum([(await self.stream(n))["state"]["messages"] for n in names])

    async def consumer(self, stream, name):
        reply = await self.api(f"CONSUMER.INFO.{stream}.{name}")
        if "error" in reply:
            raise KeyError(f"{stream}/{name}: {reply['error']['description']}")
        return reply

    async def edit_consumer(self, stream, name, **fields):
        config = {**(await self.consumer(stream, name))["config"], **fields}
        reply = await self.api(f"CONSUMER.DURABLE.CREATE.{stream}.{name}",
                               {"stream_name": stream, "config": config, "action": "update"})
        assert "error" not in reply, reply

    async def edit_stream(self, name, **fields):
        config = {**(await self.stream(name))["config"], **fields}
        reply = await self.api(f"STREAM.UPDATE.{name}", config)
        assert "error" not in reply, reply

    async def bound(self, name, tasks):
        """Bounds a queue to so many tasks, all of which one pool may have, however many pools are known."""
        metadata = (await self.stream(name))["config"]["metadata"]
        await self.edit_stream(name, max_msgs=tasks, metadata={**metadata, "ax.pool_share": "1"})

    async def last(self, stream, subject):
        """Last message on subject: (headers, body, seq), or None."""
        try:
            m = await self.js.get_last_msg(stream, subject)
            return m.headers or {}, m.data or b"", m.seq
        except nats.js.errors.NotFoundError:
            return None

    async def subjects(self, stream):
        """Subjects in the stream, with their number of messages."""
        reply = await self.api(f"STREAM.INFO.{stream}", {"subjects_filter": ">"})
        return reply["state"].get("subjects") or {}

    async def record_batches(self):
        """The record batches in KV_AX_DONE: {subject: records in it}, and the number of all messages there."""
        reply = await self.api("STREAM.INFO.KV_AX_DONE", {"subjects_filter": "$KV.AX_DONE.page.*"})
        assert "error" not in reply, reply
        return {s: int(s.split(".")[3].split("-")[0]) for s in reply["state"].get("subjects") or {}}, reply["state"]["messages"]

    async def recorded(self):
        """Ids of all tasks that have a record, under their own subject or in a batch; a task may have several."""
        batches, messages = await self.record_batches()
        for subject in [s for s in batches if s not in self._batches]:
            batch = await self.last("KV_AX_DONE", subject)
            if batch:
                self._batches[subject] = {r["task"] for r in wire.record_batch(batch[1])}
        if messages - len(batches) != len(self._alone):
            reply = await self.api("STREAM.INFO.KV_AX_DONE", {"subjects_filter": "$KV.AX_DONE.*"})
            self._alone = {s.split(".")[2] for s in reply["state"].get("subjects") or {}}
        return self._alone.union(*(ids for subject, ids in self._batches.items() if subject in batches))

    async def done(self):
        """Number of tasks that have a record."""
        return len(await self.recorded())

    async def record(self, task):
        """The newest message that records this task, under its own subject or in a batch; None: there is none."""
        found = [await self.last("KV_AX_DONE", f"$KV.AX_DONE.{task}")]
        await self.recorded()
        for subject, ids in self._batches.items():
            if task in ids:
                found.append(await self.last("KV_AX_DONE", subject))
        return max((m for m in found if m), key=lambda m: m[2], default=None)

    async def unfinished(self):
        return await self.messages("AX_HIGH", "AX_NORMAL", "AX_LOW", "AX_LATER", "AX_SPILL")

    async def settled(self, done, seconds=60, dead=0):
        """Waits until `done` tasks are recorded, `dead` lie in AX_DEAD and nothing is under way any more."""
        async def check():
            self.check_workers()
            state = {"done": await self.done(), "dead": await self.messages("AX_DEAD"),
                     "unfinished": await self.unfinished(), "work": await self.messages("AX_WORK")}
            wanted = {"done": done, "dead": dead, "unfinished": 0, "work": 0}
            assert state == wanted, f"{state}, wanted {wanted}"
            return True
        await eventually(check, seconds, "all tasks settled", every=0.1)

    async def put_pool(self, pool, settings):
        text = settings if isinstance(settings, (str, bytes)) else json.dumps(settings)
        await self.js.publish(f"$KV.AX_POOLS.{pool}", text if isinstance(text, bytes) else text.encode())

    async def pool(self, pool, settings=None, ack_wait=None, **consumer):
        """A pool with these settings, its consumers in place; ack_wait in seconds."""
        await self.put_pool(pool, settings or {})
        for stream in ("AX_WORK", *QUEUES.values()):
            await eventually(lambda s=stream: self.consumer(s, pool), 15, f"consumer {pool} on {stream}")
        if ack_wait is not None:
            consumer["ack_wait"] = int(ack_wait * 1e9)
        if consumer:
            await self.edit_consumer("AX_WORK", pool, **consumer)
        if ack_wait is not None:
            for stream in QUEUES.values():
                async def follows(s=stream):
                    lease = (await self.consumer(s, pool))["config"]["ack_wait"] / 1e9
                    return ack_wait < lease <= ack_wait * 1.5 + 2
                await eventually(follows, 20, f"ack_wait of {pool} on {stream} follows AX_WORK's")

    # ---- producers, workers, programs

    async def submit(self, body=b"", key=None, priority="high", pool="email", headers=None, nc=None, timeout=10,
                     retry=False):
        """Publishes as js.publish() does; the answer as a dict. Refused on an error. retry: while the queue is full."""
        headers = dict(headers or {})
        if key is not None:
            headers["Nats-Msg-Id"] = key
        data = body if isinstance(body, bytes) else body.encode()
        nc = nc or self.nc
        while True:
            msg = await nc.request(f"ax.submit.{priority}.{pool}", data, headers=headers or None,
                                   timeout=timeout * SLOW)
            reply = json.loads(msg.data)
            reply["headers"] = msg.headers or {}
            if "error" not in reply:
                return reply
            if not (retry and reply["error"]["code"] == 503):
                raise Refused(reply)
            await asyncio.sleep(hint_seconds(reply))

    async def push(self, tasks, producers=8, window=64, pool="email", priority="high"):
        """Submits all (key, body) with retries through `producers` connections; also when ingress or server go away."""
        queue = iter(tasks)
        answers = {"queued": 0, "duplicate": 0, "busy": 0, "unknown": 0}

        async def one(nc):
            for key, body in queue:
                while True:
                    try:
                        reply = await self.submit(body, key, priority, pool, nc=nc, timeout=2)
                        answers["duplicate" if reply["duplicate"] else "queued"] += 1
                        break
                    except Refused as refused:
                        if refused.code != 503:
                            raise
                        answers["busy"] += 1
                        await asyncio.sleep(hint_seconds({"error": refused.error}))
                    except nats.errors.Error:
                        answers["unknown"] += 1
                        await asyncio.sleep(0.05)

        connections = [await self.connect(f"producer-{i}") for i in range(producers)]
        await asyncio.gather(*(one(nc) for nc in connections for _ in range(window)))
        for nc in connections:
            await nc.close()
        return answers

    async def worker(self, pool="email", handler=None, **options):
        worker = Worker(self, pool, handler, **options)
        self.workers.append(worker)
        return await worker.start()

    def check_workers(self):
        for worker in self.workers:
            worker.check()

    def path(self):
        """PATH with the nats CLI and AX's programs."""
        first = [os.path.dirname(need("nats", "AX_NATS")), os.environ.get("AX_BIN_DIR", "")]
        return os.pathsep.join([*first, os.environ.get("PATH", "")])

    async def command(self, *argv, stdin=None, check=True, seconds=30, env=None):
        """Runs a program to its end; its output. NATS_URL and AX's programs are in its environment."""
        environment = {**self.env, **(env or {})}
        environment["PATH"] = self.path()
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=environment, cwd=self.directory, preexec_fn=_child)
        try:
            out, _ = await asyncio.wait_for(process.communicate(stdin), seconds * SLOW)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()
            raise AssertionError(f"{argv} did not end within {seconds * SLOW:g} s") from None
        text = out.decode(errors="replace")
        assert not check or process.returncode == 0, f"{argv} ended with {process.returncode}: {text}"
        return text

    async def cli(self, *args, **options):
        """The nats CLI."""
        return await self.command(need("nats", "AX_NATS"), *args, **options)


def hint_seconds(reply):
    found = re.search(r"retry in (\d+)ms", reply["error"]["description"])
    assert found, f"a busy answer without a hint: {reply}"
    return int(found[1]) / 1000


async def _quiet(error):
    pass


async def _quiet_none():
    pass


def run(test, seconds=110, make=Ax, **options):
    """Runs test(ax) with a deadline and ends the process: 0, 1, or 77 when something it needs is missing."""
    async def main():
        async with make(**options) as ax:
            await asyncio.wait_for(test(ax), seconds * SLOW)
            for d in ax.ingresses + ax.dispatches:
                assert d.p is None or d.running(), f"{d.name} ended with {d.p.returncode}"
                assert "no move" not in d.log(), f"{d.name} met an event that its table of moves does not have"

    def interrupted(number, _):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, interrupted)
    started = time.monotonic()
    try:
        asyncio.run(main())
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        print(f"FAILED after {time.monotonic() - started:.1f} s", flush=True)
        sys.exit(1)
    print(f"passed in {time.monotonic() - started:.1f} s", flush=True)
    sys.exit(0)
