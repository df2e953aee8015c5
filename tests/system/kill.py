"""Shared by the kill tests: 20,000 keyed tasks, and what must hold of their runs."""
import collections


def tasks(count):
    return [(f"order-{i}", f"body {i}") for i in range(count)]


def check(workers, count, dead_workers=()):
    """Every task was worked; a worker that lived saw no task twice, nor two living workers one task."""
    runs = collections.Counter(t.key for w in workers for t in w.starts)
    everything = set(runs) | {t.key for w in dead_workers for t in w.starts}
    assert len(everything) == count, f"{count - len(everything)} tasks never started"
    twice = {k: [(t.attempt, t.fence) for w in workers for t in w.starts if t.key == k]
             for k, n in runs.items() if n > 1}
    assert not twice, f"{len(twice)} tasks ran twice: {list(twice.items())[:5]}"
    for w in workers:
        assert all(t.body.decode() == "body " + t.key[6:] for t in w.starts)
