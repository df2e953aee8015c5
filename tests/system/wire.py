"""The NATS protocol by hand, for what client libraries refuse to send; and protobuf by hand, for tests of ax.v1."""
import asyncio
import json


async def raw_request(port, subject, header=b"", body=b"", timeout=10):
    """Publishes with exactly these header bytes (the lines after NATS/1.0) and returns the answer's payload."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    try:
        await reader.readline()  # INFO
        block = b"NATS/1.0\r\n" + header + b"\r\n"
        writer.write(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB _INBOX.raw 1\r\n'
                     + f"HPUB {subject} _INBOX.raw {len(block)} {len(block) + len(body)}\r\n".encode()
                     + block + body + b"\r\n")
        while True:
            line = await asyncio.wait_for(reader.readline(), timeout)
            if line.startswith(b"-ERR") or not line:
                raise ConnectionError(line.decode())
            if line.startswith((b"MSG", b"HMSG")):
                parts = line.split()
                data = await asyncio.wait_for(reader.readexactly(int(parts[-1]) + 2), timeout)
                return json.loads(data[int(parts[-2]) if parts[0] == b"HMSG" else 0:-2])
    finally:
        writer.close()


def varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """One protobuf field: int, bytes or str."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value if isinstance(value, bytes) else value.encode()
    return varint(number << 3 | 2) + varint(len(data)) + data


FIELDS = {"body": 1, "key": 2, "priority": 3, "pool": 4, "max_retry": 5, "backoff": 6, "delay": 7, "at": 8, "cron": 9,
          "time_zone": 10, "expires": 11, "overlap": 13, "timeout": 14}


def task(headers=None, **fields):
    """An ax.v1.Task."""
    out = b"".join(field(FIELDS[k], v) for k, v in fields.items())
    for name, value in (headers or {}).items():
        out += field(12, field(1, name) + field(2, value))
    return out


def batch(tasks):
    """An ax.v1.TaskBatch."""
    return b"".join(field(1, t) for t in tasks)


def read(data):
    """[(number, value)] of a message: ints and bytes."""
    at = 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            n |= (data[at] & 0x7F) << shift
            at += 1
            if data[at - 1] < 0x80:
                return n
            shift += 7

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            assert tag & 7 == 2, tag
            n = number()
            yield tag >> 3, data[at:at + n]
            at += n


def replies(data):
    """An ax.v1.BatchReply as a list of dicts."""
    out = []
    for number, value in read(data):
        assert number == 1, number
        got = {"stream": "", "seq": 0, "duplicate": 0, "task": "", "state": "", "error": None}
        for n, v in read(value):
            if n == 6:
                error = {"code": 0, "err_code": 0, "description": "", "retry_after_ms": 0}
                for m, w in read(v):
                    error[list(error)[m - 1]] = w if isinstance(w, int) else w.decode()
                got["error"] = error
            else:
                got[list(got)[n - 1]] = v if isinstance(v, int) else v.decode()
        out.append(got)
    return out


def record(data):
    """An ax.v1.Record: {field number: value}."""
    return dict(read(data))


def record_batch(data):
    """The records in a batch (ax.v1.RecordPage): task, attempt, fence, finished_ns and submitted of each."""
    names = {1: "task", 2: "attempt", 3: "fence", 4: "finished_ns", 5: "submitted"}
    found = [{names[n]: value for n, value in read(entry)} for number, entry in read(data) if number == 2]
    return [{"attempt": 0, "fence": 0, **r, "task": r["task"].decode()} for r in found]
