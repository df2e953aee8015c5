"""The sink: where workers write, and where everything that happens is recorded (SQLite).

It stands for the database behind the workers. An effect is applied once per task and never by an attempt that is older
than one that has started: both are decided by SQL, from task id and fencing token. Nothing is injected into it.
A process of its own: `sink.py DATABASE` prints its port. One line of JSON is a request, one line its answer:

    {"e": "start", "task": …, "fence": …}   how many starts of the task there were before
    {"e": "apply", "task": …, "fence": …}   applied | again (was applied before) | stale (a newer attempt has started)
    {"e": anything else}                    ok, recorded. With "q": 1 there is no answer
"""
import asyncio
import json
import signal
import sqlite3
import sys
import time

SCHEMA = """
CREATE TABLE events (id INTEGER PRIMARY KEY, t REAL, e TEXT, task TEXT, data TEXT);
CREATE TABLE newest (task TEXT PRIMARY KEY, fence INTEGER, starts INTEGER);
CREATE TABLE effects (task TEXT PRIMARY KEY, fence INTEGER);
"""


class Sink:
    def __init__(self, path):
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=OFF")
        self.db.executescript(SCHEMA)
        self.db.execute("BEGIN")

    def record(self, event):
        event.setdefault("t", time.time())
        self.db.execute("INSERT INTO events (t, e, task, data) VALUES (?, ?, ?, ?)",
                        (event["t"], event["e"], event.get("task"), json.dumps(event)))

    def start(self, task, fence):
        row = self.db.execute("SELECT starts FROM newest WHERE task = ?", (task,)).fetchone()
        self.db.execute("INSERT INTO newest VALUES (?, ?, 1) ON CONFLICT (task) DO UPDATE SET starts = starts + 1, "
                        "fence = max(fence, excluded.fence)", (task, fence))
        return row[0] if row else 0

    def apply(self, task, fence):
        done = self.db.execute("INSERT INTO effects SELECT ?1, ?2 WHERE NOT EXISTS "
                               "(SELECT 1 FROM newest WHERE task = ?1 AND fence > ?2) ON CONFLICT (task) DO NOTHING",
                               (task, fence))
        if done.rowcount > 0:
            return "applied"
        return "again" if self.db.execute("SELECT 1 FROM effects WHERE task = ?", (task,)).fetchone() else "stale"

    def take(self, event):
        """The answer to one request."""
        answer = "ok"
        if event["e"] == "start":
            answer = str(self.start(event["task"], event["fence"]))
            event["before"] = int(answer)
        elif event["e"] == "apply":
            answer = event["e"] = self.apply(event["task"], event["fence"])
        self.record(event)
        return answer

    def commit(self):
        self.db.execute("COMMIT")
        self.db.execute("BEGIN")

    async def serve(self, reader, writer):
        try:
            while line := await reader.readline():
                event = json.loads(line)
                answer = self.take(event)
                if not event.get("q"):
                    writer.write(answer.encode() + b"\n")
                    await writer.drain()
        except (ConnectionError, json.JSONDecodeError):
            pass  # killed in the middle of a line: it was never said
        finally:
            writer.close()


async def main(path):
    sink = Sink(path)
    server = await asyncio.start_server(sink.serve, "127.0.0.1", 0, limit=1 << 20)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print(server.sockets[0].getsockname()[1], flush=True)
    while not stop.is_set():
        sink.commit()
        try:
            await asyncio.wait_for(stop.wait(), 0.1)
        except asyncio.TimeoutError:
            pass
    sink.db.execute("COMMIT")
    sink.db.close()


class Client:
    """A connection to the sink; requests are answered in turn."""

    def __init__(self, port):
        self.port, self.waiting = port, asyncio.Queue()

    async def connect(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.answers = asyncio.create_task(self._read())
        return self

    async def _read(self):
        while line := await self.reader.readline():
            self.waiting.get_nowait().set_result(line.decode().strip())

    async def ask(self, e, **fields):
        future = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait(future)
        self.writer.write(json.dumps({"e": e, **fields}).encode() + b"\n")
        return await future

    def tell(self, e, **fields):
        fields.setdefault("t", time.time())
        self.writer.write(json.dumps({"e": e, "q": 1, **fields}).encode() + b"\n")

    async def close(self):
        await self.ask("bye")
        self.writer.close()


def read_events(path):
    """Everything recorded, in order of time."""
    db = sqlite3.connect(path)
    events = [json.loads(data) for (data,) in db.execute("SELECT data FROM events ORDER BY t, id")]
    db.close()
    return events


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
