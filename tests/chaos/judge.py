"""The judge: reads the history of a run and says what AX has to answer for. Knows nothing of how the history came about,
so that tests/chaos/test_judge.py can feed it made-up ones.

An event is a dict: t (seconds since the epoch), e (what), task and more. The kinds it understands:

    accepted  task kind pool key stream seq dup state     a producer's answer
    refused   error                                       a producer was told that its task is wrong
    start     task fence attempt who pool handed got      a worker began; handed: when the hand-off was stored
    applied, again, stale  task fence who                 what the sink said to the effect
    ack, nak, term, progress  task fence who              acks that the server confirmed (…ing: being sent)
    mute, unsure  task fence who                          no ack on purpose; one that was not confirmed
    record    task state seq                              stored in AX_DONE
    dead      task reason                                 stored in AX_DEAD
    handing   task attempt                                a hand-off was seen on the wire
    left      task stream                                 still stored at the end
    over bound  stream stored bound                       a sample of a queue
    removal   stream place                                an ack, a term or a deletion was sent for this message (of a cluster)
    fault     kind who role until                         what was done to whom, from t to until. Role lease: pool `who` had
                                                          no leader, as the dispatchers' logs say. Role machine: it had
                                                          too much to do

Double faults are allowed by docs/design/clusters.md and counted apart, each only while the end of the task is not stored (a record in
AX_DONE, a letter in AX_DEAD): who has that stored must know it, whatever is killed.
    a single server (one replica) was killed while the task was in flight;
    nobody was there to record it (its dispatcher was dead, paused, cut off, or without its lease, or the servers were not there),
    from when the task was finished until the server that leads AX_WORK when it is handed over again was restarted: that has
    forgotten the message ids of hand-offs that are gone, by which a second one is known. And the pool went to another leader, or
    to the same once more: who has heard the ack and leads on needs no message id. An outage that is longer than the lease is
    all of that in one;
    the servers had no room to store when the task was finished, so that it could not be recorded, and the same;
    a server of a cluster was killed before the dispatcher had its answer to the hand-off, so that it publishes it again, and
    the server that then leads AX_WORK was restarted: an ack names no task;
    the same key was accepted under two priorities, and the dispatcher was away between the worker's ack and the record.
"""
import bisect
import collections
import math

EFFECT_POOLS = ("open", "rated", "shell")
SINGLE_KILLED = "allowed: the single server was killed with it in flight"
FORGOTTEN = "allowed: dispatcher dead or cut off, and AX_WORK's leader restarted"
FULL_FORGOTTEN = "allowed: no room to record it, and AX_WORK's leader restarted before there was"
KEPT = "kept in its queue by a server that was killed after the ack"
VANISHED = "dropped by the servers, though nobody had acked it"
UNANSWERED = "allowed: a server died before it could answer the hand-off, and AX_WORK's leader restarted"
TWO_PRIORITIES = "allowed: its key under two priorities, and dispatcher dead between ack and record"
SLACK_S = 0.1  # of rate: how unevenly the way from dispatch to the server's clock may take its time
CROSSED_S = 0.05  # how far apart record and retry are when dispatch sent them at the same time
HEARD_S = 0.5  # how long an ack may take to dispatch, on a busy machine
AGAIN_S = 3.0  # after how long a publish without an answer is repeated
CALM_S = 1.0   # how long a disturbance is felt after its end


class Judge:
    def __init__(self, events, servers=1, ack_wait=2.0, lease=5.0, rated=("rated", 80, 20), left=None, problems=(),
                 done_lines=None, lost_lines=0, work_leaders=()):
        """work_leaders: (t, server) whenever AX_WORK got another leader, of a cluster. left: what was found at the end;
        problems: verdicts of others; done_lines: (task, fence) that the examples' workers printed; lost_lines: how many of
        them may have died before they could print."""
        self.events = sorted(events, key=lambda e: e["t"])
        self.servers, self.ack_wait, self.lease, self.rated = servers, ack_wait, lease, rated
        self.left, self.problems = left or {}, list(problems)
        self.done_lines, self.lost_lines, self.work_leaders = done_lines, lost_lines, sorted(work_leaders)
        self.verdicts, self.causes, self.figures = [], collections.Counter(), collections.Counter()
        self.tasks = collections.defaultdict(list)
        for event in self.events:
            if event.get("task"):
                self.tasks[event["task"]].append(event)
        self.faults = [e for e in self.events if e["e"] == "fault"]
        self.away, self.absences = {}, {}  # pool → times
        self.removals = {(e["stream"], e["place"]) for e in self.events if e["e"] == "removal"}
        self.hand_offs = collections.defaultdict(list)
        for event in self.events:
            if event["e"] == "handing":
                self.hand_offs[event["task"], event["attempt"]].append(event["t"])

    def judge(self):
        for problem in self.problems:
            self.against(problem)
        for what, number in self.left.items():
            stuck = [e["task"] for e in self.events if e["e"] == "left" and e["stream"] == what]
            kept = sum(self._kept_by_killed(task) for task in stuck)
            self.figures[KEPT] += kept
            if kept == number:
                continue
            stuck = [task for task in stuck if not self._kept_by_killed(task)]
            self.against(f"left at the end: {number} in {what}", stuck[0] if stuck else None)
        self._bounds()
        self._stored()
        self._ends()
        self._effects()
        self._starts()
        self._bucket()
        self._count()
        return self.verdicts

    def against(self, text, task=None):
        self.verdicts.append((text, task))

    def of(self, task, *kinds):
        return [e for e in self.tasks[task] if e["e"] in kinds]

    # ---- what was accepted

    def _kept_by_killed(self, task):
        """docs/design/clusters.md: a single server that is killed just after a queue message was acked may keep it, while its consumer has
        it acknowledged. Of a task that has ended (a record, a letter) within a moment before that."""
        end = self._stored_end(task)
        return self.servers == 1 and any(f["kind"] == "kill" and f["t"] - CALM_S <= end <= f["t"] + HEARD_S
                                         for f in self.overlapping(end - CALM_S, end + CALM_S, "server"))

    def _bounds(self):
        for event in self.events:
            if event["e"] == "over bound":
                self.against(f"{event['stream']} held {event['stored']} of at most {event['bound']}")
            elif event["e"] == "refused":
                self.against(f"a good task was refused as wrong: {event['error']}")

    def _stored(self):
        """What was accepted as new has a place of its own in its stream."""
        places = {}
        for event in self.events:
            if event["e"] != "accepted" or event["dup"]:
                continue
            other = places.setdefault((event["stream"], event["seq"]), event["task"])
            if other != event["task"]:
                self.against(f"{event['stream']} {event['seq']} was given as the place of {other} and of another task",
                             event["task"])

    def _ends(self):
        for task, events in self.tasks.items():
            accepted = next((e for e in events if e["e"] == "accepted"), None)
            if accepted is None:
                continue
            kind = accepted["kind"]
            done = [e for e in events if e["e"] == "record" and e["state"] == "done"]
            dead = [e for e in events if e["e"] == "dead"]
            self.figures["accepted tasks"] += 1
            self.figures["finished"] += bool(done)
            self.figures["dead letters"] += bool(dead)
            if not done and not dead and self._vanished(task):
                self.figures[VANISHED] += 1
            elif not done and not dead:
                self.against("lost: accepted, and neither finished nor dead-lettered", task)
            if dead and not dead[-1].get("reason"):
                self.against("dead-lettered without a reason", task)
            if done and kind == "term" and self._term_unheard(task):
                self.figures["terminated while nobody listened, and its advisory lost: counted as done"] += 1
            elif done and kind != "ok" and self._vanished_at_work(task):
                self.figures[VANISHED] += 1
            elif done and kind in ("fail", "term"):
                self.against(f"recorded as done, but every attempt was to {kind}", task)
            if dead and kind not in ("fail", "term"):
                self.against(f"dead-lettered ({dead[-1].get('reason')}), but its attempts were to succeed", task)
            if dead and kind == "term" and "terminated" not in (dead[-1].get("reason") or ""):
                self.against(f"terminated, but dead-lettered for another reason: {dead[-1].get('reason')}", task)

    def _vanished(self, task):
        """docs/design/clusters.md: in a cluster whose nodes die one after the other nats-server may drop messages from a work queue that
        nobody has acked, terminated or deleted. Its last place is one for which nobody has sent anything of the kind."""
        places = [(e["t"], e["stream"], e["seq"]) for e in self.of(task, "accepted")
                  if e["stream"].startswith("AX_") and e["stream"] not in ("AX_LATER", "AX_DEAD")]
        for e in self.of(task, "handing"):
            words = (e.get("id") or "").split(".")
            places += [(int(words[3]) / 1e9, words[1], int(words[2]))] if len(words) == 4 else []
        return bool(places) and bool(self.removals) and max(places)[1:] not in self.removals

    def _vanished_at_work(self, task):
        """The same of a hand-off that no worker has acked or terminated: gone is all that a dispatcher can see of it. The
        workers of these pools tell what they are about to send; of the others' it counts whether one has got it."""
        fences = {e.get("fence") for e in self.of(task, "record") if e["state"] == "done"}
        ended = {e["fence"] for e in self.of(task, "acking", "ack", "terming", "term")}
        got = {e["fence"] for e in self.of(task, "start") if e["pool"] not in EFFECT_POOLS}
        return bool(self.removals) and bool(fences) and all(
            ("AX_WORK", f) not in self.removals and f not in ended | got for f in fences)

    def _term_unheard(self, task):
        """docs/design/clusters.md: a termination that no dispatcher heard, or none that lived to write the dead letter, is told by the
        server's advisory alone, which is stored only if AX_EVENTS has a leader and room just then."""
        terms, recorded = self.of(task, "term", "terming"), self._stored_end(task)

        def unheard(term):
            if any(self._away(f) for f in self.overlapping(term["t"] - HEARD_S, term["t"] + HEARD_S)):
                return True
            return any(f["role"] == "dispatch" and f["kind"] == "kill" and term["t"] <= f["t"] <= recorded for f in self.faults)

        return bool(terms) and all(
            unheard(e) and any(f["role"] in ("server", "leader") or f["who"].startswith("route")
                               for f in self.overlapping(e["t"] - CALM_S, e["t"] + CALM_S)) for e in terms)

    def _effects(self):
        missing = 0
        printed = {task for task, _ in self.done_lines} if self.done_lines is not None else set()
        for task, events in self.tasks.items():
            applied = [e for e in events if e["e"] == "applied"]
            if len(applied) > 1:
                self.against(f"double effect: applied {len(applied)} times", task)
            accepted = next((e for e in events if e["e"] == "accepted"), None)
            done = any(e["e"] == "record" and e["state"] == "done" for e in events)
            if accepted is None or not done:
                continue
            if accepted["kind"] == "term" and self._term_unheard(task):
                continue
            if not applied and task not in printed and self._vanished_at_work(task):
                self.figures[VANISHED] += accepted["kind"] == "ok"  # the others are counted among the ends
            elif accepted["pool"] in EFFECT_POOLS and not applied:
                self.against("recorded as done, but no worker ever applied its effect", task)
            elif accepted["pool"] not in EFFECT_POOLS and self.done_lines is not None and task not in printed:
                missing += 1
        self.figures["done by an example that died before it could say so"] = missing
        if missing > self.lost_lines:
            self.against(f"{missing} tasks are recorded as done that no example worker finished; at most "
                         f"{self.lost_lines} can have died in between")

    # ---- what was started, and why again

    def handed(self, start):
        """When this attempt was handed over; None when nobody saw it."""
        if "handed" in start:
            return start["handed"]
        seen = [t for t in self.hand_offs[start["task"], start["attempt"]] if t <= start["t"]]
        return seen[-1] if seen else None

    def overlapping(self, a, b, *roles, who=None):
        return [f for f in self.faults if f["t"] <= b and f["until"] >= a and (f["role"] in roles or not roles)
                and (who is None or f["who"] == who or f["who"].startswith(who + "-"))]

    def allowed(self, pool, first, finish, again, task=None):
        """One of the double faults, or None. first: hand-off of the attempt that finished; again: of the other; task: whose
        end must not have been stored before that."""
        if task is not None and self._stored_end(task) < again - CROSSED_S:
            return None
        upsets = [f for f in self.faults if f["role"] == "server" and f["kind"] in ("kill", "restart", "disk-full")]
        if self.servers == 1 and any(f["kind"] == "kill" and first - 0.2 <= f["t"] <= min(finish + CALM_S, again)
                                     for f in upsets):
            return SINGLE_KILLED
        restarts = self._forgotten(upsets, first, again)
        changed = any(begin <= again and end >= finish - CALM_S for begin, end in self._away_times(pool))
        if changed and self._happened(restarts, self._unseen_until(pool, [a for a in self._absences(pool)
                                                              if a[0] - CALM_S <= finish <= self._seen_by(*a)])):
            return FORGOTTEN
        if self.servers > 1 and restarts and any(
                f["kind"] == "kill" and first <= f["t"] <= first + HEARD_S for f in upsets):
            return UNANSWERED
        # No lease can be renewed meanwhile, so that the pool may be without a leader afterwards.
        if self._happened(restarts, self._unseen_until(pool, [
                (f["t"], f["until"] + 2 * self.lease) for f in self.faults
                if f["kind"] == "store-full" and f["t"] - HEARD_S <= finish <= f["until"]])):
            return FULL_FORGOTTEN
        if task is not None and any(begin - CALM_S <= finish <= end for begin, end in self._away_times(pool)) and \
                len({e.get("priority") for e in self.of(task, "accepted") if not e["dup"]}) > 1:
            return TWO_PRIORITIES
        return None

    def _seen_by(self, begin, end):
        """When another, or the same, has taken over after an absence, and has seen the queue message come again."""
        return max(end + CALM_S, begin + 2 * self.lease) + max(self.ack_wait * 1.1, self.ack_wait + 1) + CALM_S

    def _unseen_until(self, pool, absences):
        """The same after these absences and those that follow before that; None when there was none."""
        if not absences:
            return None
        until = max(self._seen_by(*a) for a in absences)
        for begin, end in self._absences(pool):
            if absences[0][0] <= begin <= until:
                until = max(until, self._seen_by(begin, end))
        return until

    def _absences(self, pool):
        """Of the pool's dispatcher, and of what it needs to record a task: publishes are repeated a while after the servers
        are back."""
        if pool not in self.absences:
            servers = [[f["t"], f["until"] + AGAIN_S] for f in self.faults
                       if f["role"] in ("server", "leader") or f["who"].startswith("route")]
            self.absences[pool] = sorted(self._away_times(pool) + servers)
        return self.absences[pool]

    def _forgotten(self, upsets, first, again):
        """When the server that leads AX_WORK at `again` was restarted after `first`."""
        leader = next((who for t, who in reversed(self.work_leaders) if t <= again), None)
        return [f["t"] for f in upsets if f["until"] >= first - CALM_S and f["t"] <= again
                and (self.servers == 1 or f["who"] == leader)]

    @staticmethod
    def _happened(times, until):
        return until is not None and any(t <= until for t in times)

    def _stored_end(self, task):
        return min((e["t"] for e in self.of(task, "record", "dead") if e.get("state", "done") == "done"), default=math.inf)

    def _away_times(self, pool):
        """When the pool's dispatcher may have been away; one interval where one reason follows on the other. That a lease
        is lost is noticed when it is over."""
        if pool in self.away:
            return self.away[pool]
        times = self.away[pool] = []
        for t, until in sorted((f["t"] - (self.lease if f["role"] == "lease" else 0), f["until"]) for f in self.faults
                               if self._away(f) and f["who"] in self._names(f, pool)):
            if times and t <= times[-1][1] + CALM_S:
                times[-1][1] = max(times[-1][1], until)
            else:
                times.append([t, until])
        return times

    @staticmethod
    def _away(fault):
        """A dispatcher is dead, paused, cut off, or a pool is without a leader."""
        return fault["role"] in ("dispatch", "lease") or (
            fault["role"] == "link" and fault["who"].startswith("dispatch") and fault["kind"] in ("cut", "stall"))

    def _starts(self):
        for task, events in self.tasks.items():
            starts = [e for e in events if e["e"] == "start"]
            if not starts:
                continue
            self.figures["attempts"] += len(starts)
            self.figures["tasks started"] += 1
            # The record is the word of AX, the confirmed ack that of the server; the first of them is the end.
            ends = [(e["t"], "acked" if e["e"] == "ack" else "recorded") for e in events
                    if e["e"] == "ack" or (e["e"] == "record" and e["state"] == "done")]
            ends += [(e["t"], "dead-lettered") for e in events if e["e"] == "dead"]
            finish = min(ends) if ends else None
            for i, start in enumerate(starts[1:], 1):
                cause = self._why(task, starts[:i], start, finish)
                self.causes[cause] += 1

    def _why(self, task, earlier, start, finish):
        handed = self.handed(start)
        if handed is None:
            return "its hand-off was not seen"
        if finish and handed > finish[0] and self._crossed(task, earlier, start, finish, handed):
            return "timed out: its late ack crossed with the retry"
        if finish and handed > finish[0]:
            first = min(h for h in (self.handed(e) or e["t"] for e in earlier))
            allowed = self.allowed(start.get("pool"), first, finish[0], handed, task)
            if allowed:
                return allowed
            self.against(f"started again (fence {start['fence']}, handed over {handed:.3f}) after it was "
                         f"{finish[1]} ({finish[0]:.3f})", task)
            return "AGAIN AFTER ITS END"
        same = [e for e in earlier if e["fence"] == start["fence"]]
        if same and any(e["e"] in ("nak", "naking") and e["fence"] == start["fence"] and e["t"] < start["t"]
                        for e in self.tasks[task]):
            return "nak, and the server gave out the same hand-off once more"
        if same:
            allowed = self.allowed(start.get("pool"), handed, finish[0] if finish else start["t"], start["t"])
            if allowed:
                return allowed
            self.against(f"one hand-off (fence {start['fence']}) reached two workers", task)
            return "ONE HAND-OFF TWICE"
        older = [e for e in self.of(task, "start") if e["fence"] < start["fence"]]
        if not older:
            return "an older hand-off, fetched late"
        last = max(older, key=lambda e: e["fence"])
        mine = [e for e in self.tasks[task] if e.get("fence") == last["fence"] and e["t"] <= handed + 0.5]
        if any(e["e"] in ("nak", "naking") or (e["e"] == "unsure" and e.get("ack") == "nak") for e in mine):
            return "nak"
        # Nobody said it failed: so there must have been a silence as long as the ack wait.
        since = self.handed(last) or last["t"]
        signs = [last.get("got", last["t"])] + [e["t"] for e in mine if e["e"] in ("progress", "progressing")]
        signs = sorted(t for t in signs if t < handed) + [handed]
        silence = max([b - a for a, b in zip(signs, signs[1:])], default=0)
        calm = not self.overlapping(since - 0.2, handed, "server", "worker", "ax-work", "link", "leader", "lease")
        # A server writes down in whole seconds when it delivered: after its restart the ack wait may be over so much
        # sooner.
        restarted = any(f["kind"] in ("kill", "restart") for f in self.overlapping(since, handed, "server"))
        early = handed - since < self.ack_wait * 0.95 - restarted or (calm and silence < self.ack_wait * 0.8)
        if early and last["pool"] != "lang":
            allowed = self.allowed(start.get("pool"), since, handed, handed)
            if allowed:
                return allowed
            self.against(f"handed over again (fence {start['fence']}) {handed - since:.3f} s after fence {last['fence']}, "
                         f"whose worker had {self.ack_wait:g} s", task)
            return "BEFORE ITS TIME WAS OVER"
        return "timed out: " + self._silence(task, last, mine, handed)

    def _crossed(self, task, earlier, start, finish, handed):
        """A late ack: the attempt had timed out before it and its successor was made, and dispatch had not yet heard of
        the ack, or the one that would have known it was not there any more, when it handed over the successor."""
        recorded = min((e["t"] for e in self.of(task, "record") if e["state"] == "done"), default=handed)
        seen = min([handed] + self.hand_offs[task, start["attempt"]])
        if finish[1] == "dead-lettered" or seen - recorded > CROSSED_S:
            return False
        ack = min(self.of(task, "ack", "acking"), key=lambda e: abs(e["t"] - finish[0]), default=None)
        if ack is None:
            return False
        attempt = max((e["attempt"] for e in earlier if e["fence"] == ack["fence"]), default=None)
        if attempt is None or start["attempt"] <= attempt:
            return False
        since = min(self._given(e) for e in earlier if e["fence"] == ack["fence"])
        late = finish[0] - since > self.ack_wait * 0.8 or self.overlapping(since - 0.2, finish[0], "server", "link")
        sent = min([handed] + [t for t in self.hand_offs[task, start["attempt"]] if t > since])
        if not late:
            return False
        # What timed out is remembered by the dispatcher that saw it, and by no other.
        changed = any(self._away(f) and f["who"] in self._names(f, start.get("pool"))
                      for f in self.overlapping(since, handed))
        return sent - finish[0] < HEARD_S or changed or bool(
            self.overlapping(finish[0] - HEARD_S, handed, "server", "leader"))

    def _given(self, start):
        """When its ack wait began: the server's word, where the worker was not there to see it come."""
        got, handed = start.get("got", start["t"]), self.handed(start)
        return got if handed is None or not self.overlapping(handed, got, who=start["who"]) else handed

    @staticmethod
    def _names(fault, pool):
        """Whom a fault must name to concern this pool: a missing leader is one pool's."""
        return (pool,) if fault["role"] == "lease" else (fault["who"],)

    def _silence(self, task, last, mine, until):
        """Why an attempt was not finished in time."""
        since = last.get("got", last["t"]) - self.ack_wait
        faults = {f["kind"] for f in self.overlapping(since, until, who=last["who"])}
        for kind in ("kill", "pause", "cut", "stall", "slow"):
            if kind in faults:
                return f"its worker: {kind}"
        if any(e["e"] == "mute" for e in mine):
            return "no ack"
        if any(e["e"] in ("acking", "unsure") for e in mine):
            return "its ack was late or lost"
        if self.overlapping(since, until, "server", "leader"):
            return "a server was away"
        return "hung, or waited in its worker"

    # ---- rate

    def bucket_excess(self):
        """Most starts by which any window went over rate × length (in starts), with one burst off per takeover; the
        windows begin in calm moments, since what a disturbance holds up arrives at once after it: of the servers, of the
        dispatchers, of this pool's lease (whose new leader waits for the streams), of the machine."""
        pool, rate, _ = self.rated
        times = sorted({(e["task"], e["fence"]): e["handed"] for e in self.events
                        if e["e"] == "start" and e.get("pool") == pool and "handed" in e}.values())
        upset = [(f["t"], f["until"] + CALM_S) for f in self.faults
                 if f["role"] in ("server", "leader", "dispatch", "machine") or
                 (f["role"] == "lease" and f["who"] == pool) or
                 (f["role"] == "link" and f["who"].startswith(("dispatch", "route")))]
        takeovers = sorted(f["t"] for f in self.faults if f["role"] == "dispatch")
        worst, best, windows = 0, None, 0
        for i, t in enumerate(times):
            level = i - rate * t - self.rated[2] * bisect.bisect_left(takeovers, t)
            if not any(a <= t <= b for a, b in upset):
                best = level if best is None else min(best, level)
                windows += 1
            if best is not None:
                worst = max(worst, level - best + 1)
        self.figures["calm moments judged for the rate"] = windows
        return worst

    def _bucket(self):
        pool, rate, burst = self.rated
        excess = self.bucket_excess()
        self.figures["highest burst (of a pool with rate %g, burst %g)" % (rate, burst)] = round(excess, 1)
        if excess > burst + 1 + SLACK_S * rate:
            self.against(f"pool {pool}: {excess:.1f} starts over rate × time in a window, the burst is {burst}")

    # ---- figures

    def _count(self):
        for event in self.events:
            name = {"unanswered": "submissions without an answer", "busy": "submissions told to come again",
                    "again": "effects refused: was applied before", "stale": "effects refused: a newer attempt had started",
                    "unsure": "acks never confirmed", "mute": "attempts that ended in silence on purpose",
                    "record": "records"}.get(event["e"])
            if name:
                self.figures[name] += 1
            elif event["e"] == "accepted":
                self.figures["answers: new" if not event["dup"] else f"answers: duplicate, {event['state']}"] += 1
                self.figures["duplicates offered"] += event["why"] != "first" if "why" in event else 0
        self.figures["timeouts"] = sum(n for cause, n in self.causes.items() if cause.startswith("timed out"))
        for task in self.tasks:
            recorded = [e for e in self.of(task, "record") if e["state"] == "done"]
            newest = max((e["fence"] for e in self.of(task, "start")), default=0)
            if recorded and recorded[0].get("fence") and recorded[0]["fence"] < newest:
                self.figures["late acks honoured"] += 1

    def history(self, task):
        """Everything known of a task, with what was done to AX in its time; lines of text."""
        events = self.tasks[task]
        if not events:
            return []
        zero, end = events[0]["t"], events[-1]["t"]
        faults = [f for f in self.faults if f["t"] <= end + 1 and f["until"] >= zero - 1]
        lines = []
        for event in sorted(events + faults, key=lambda e: e["t"]):
            rest = " ".join(f"{k}={round(v - zero, 3) if k in ('handed', 'got', 'until', 'asked') else v}"
                            for k, v in event.items() if k not in ("t", "e", "task", "q") and v is not None)
            lines.append(f"  {event['t']:.3f} {event['t'] - zero:+9.3f}  {event['e']:<9} {rest}")
        return lines
