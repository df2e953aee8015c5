"""Includes between the rooms of src go one way only (docs/design/overview.md).

base < task < bus < done < stats < ingress, dispatch, cli; the last three never include each other.
Where these have rooms of their own, ALLOWED says which room may include which.
"""
from source import Source, finish, self_check, sources

LOWER = ["base", "task", "bus", "done", "stats"]
TOP = ["ingress", "dispatch", "cli"]

# Rooms within a room: which others of the same floor each may include. A room that is not named
# here includes only itself. To tighten a line is progress; to loosen one needs a reason.
ALLOWED = {
    "base": {"base/text"},
    "base/io": {"base"},
    "task/peer": {"task"},
    "bus": {"bus/connection"},
    "bus/provision": {"bus"},
    "ingress": {"ingress/submit", "ingress/feed", "ingress/queue", "ingress/door"},
    "ingress/submit": {"ingress", "ingress/queue", "ingress/door"},
    "ingress/feed": {"ingress", "ingress/queue"},
    "ingress/queue": {"ingress", "ingress/feed"},  # a queue owns its two feeders
    "dispatch": {"dispatch/attempt", "dispatch/fair", "dispatch/lead", "dispatch/pool"},
    "dispatch/pool": {"dispatch", "dispatch/attempt", "dispatch/fair", "dispatch/lead",
                      "dispatch/rate"},
    "dispatch/attempt": {"dispatch", "dispatch/fair", "dispatch/lead", "dispatch/pool"},
    "dispatch/fair": {"dispatch", "dispatch/attempt", "dispatch/pool", "dispatch/rate"},
    "dispatch/lead": {"dispatch", "dispatch/attempt", "dispatch/pool"},
    "dispatch/rate": set(),  # pure: no pool, no attempt
    "cli": {"cli/streams", "cli/store"},
    "cli/store": set(),  # of `ax up` and of those that look for it
    "cli/streams": {"cli"},
    "cli/submit": {"cli", "cli/streams"},
    "cli/access": {"cli"},
    "cli/up": {"cli", "cli/store", "cli/streams"},
    "cli/work": {"cli", "cli/streams"},
    "cli/doctor": {"cli", "cli/streams"},
    "cli/dead": {"cli", "cli/streams"},
    "cli/pool": {"cli", "cli/streams"},
}


def refusal(room, included):
    """Why a file of `room` must not include one of `included`; None: it may."""
    floor, other = room.split("/")[0], included.split("/")[0]
    if other not in LOWER + TOP:  # generated code: "ax/v1"
        return None
    if floor == other:
        allowed = {room} | ALLOWED.get(room, set())
        return None if included in allowed else (
            f"of {floor}, {room} includes only {', '.join(sorted(allowed))}")
    if other in TOP:
        return f"{other} is not below {floor}"
    if floor in LOWER and LOWER.index(other) > LOWER.index(floor):
        return f"{other} is above {floor}: {' < '.join(LOWER)}"
    return None


def violations(source):
    for line, path in source.includes:
        why = refusal(source.room, path.rpartition("/")[0])
        if why:
            yield f'{source}:{line}: includes "{path}", but {why}'


def check_self():
    def found(path, text):
        return len(list(violations(Source(path, text))))

    self_check(1, found("src/base/a.c", '#include "bus/wire.h"\n'))
    self_check(1, found("src/ingress/a.c", '#include "cli/a.h"\n'))
    self_check(1, found("src/dispatch/rate/a.c", '#include "dispatch/pool/a.h"\n'))
    self_check(0, found("src/done/a.c", '#include "bus/wire.h"\n#include "done/b.h"\n'))
    self_check(0, found("src/cli/up/a.c", '#include "base/log.h"\n#include "cli/a.h"\n'))


check_self()
finish([v for s in sources("src") for v in violations(s)],
       "Move what is shared to a lower room, or let the caller hand it over.")
