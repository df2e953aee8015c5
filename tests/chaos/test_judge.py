"""The judge must find what is wrong: made-up histories, each with one thing against AX, and one that is in order."""
import sys
import unittest

from judge import FORGOTTEN, FULL_FORGOTTEN, KEPT, SINGLE_KILLED, TWO_PRIORITIES, UNANSWERED, VANISHED, Judge

RATED = ("rated", 10, 5)


def accepted(task, t=0.0, **more):
    return {"t": t, "e": "accepted", "task": task, "key": task, "pool": "open", "kind": "ok", "stream": "AX_HIGH",
            "seq": abs(hash(task)) % 10**6, "dup": False, "state": "queued", **more}


def start(task, t, fence, attempt=1, handed=None, who="worker-0", **more):
    handed = t - 0.01 if handed is None else handed
    return {"t": t, "e": "start", "task": task, "fence": fence, "attempt": attempt, "who": who, "pool": "open",
            "handed": handed, "got": t - 0.005, **more}


def did(e, task, t, fence, **more):
    return {"t": t, "e": e, "task": task, "fence": fence, "who": "worker-0", **more}


def record(task, t, **more):
    return {"t": t, "e": "record", "task": task, "state": "done", **more}


def fault(kind, who, t, until, role):
    return {"t": t, "e": "fault", "kind": kind, "who": who, "until": until, "role": role}


def good(task="a", t=0.0, fence=1):
    """One task from its submission to its record."""
    return [accepted(task, t), start(task, t + 0.1, fence), did("applied", task, t + 0.2, fence),
            did("ack", task, t + 0.3, fence), record(task, t + 0.4)]


class JudgeTest(unittest.TestCase):
    def judge(self, events, **options):
        judge = Judge(events, **{"rated": RATED, **options})
        judge.judge()
        return judge

    def found(self, text, events, **options):
        judge = self.judge(events, **options)
        self.assertTrue(any(text in verdict for verdict, _ in judge.verdicts), f"{text!r} not in {judge.verdicts}")
        return judge

    def clean(self, events, **options):
        judge = self.judge(events, **options)
        self.assertEqual(judge.verdicts, [])
        return judge

    def test_nothing_against_a_good_run(self):
        judge = self.clean(good("a") + good("b", 1, 2) + [
            accepted("c", 2, kind="term"), start("c", 2.1, 3), did("term", "c", 2.2, 3),
            {"t": 2.3, "e": "dead", "task": "c", "reason": "terminated: poison"}])
        self.assertEqual((judge.figures["finished"], judge.figures["dead letters"]), (2, 1))

    def test_loss(self):
        self.found("lost", good("a") + [accepted("b", 1)])
        self.found("no worker ever applied", [accepted("a"), record("a", 1)])
        self.found("left at the end", good("a"), left={"AX_HIGH": 1})

    def test_what_the_servers_dropped_is_counted_apart(self):
        other = {"t": 1, "e": "removal", "stream": "AX_HIGH", "place": 1}
        lost = [accepted("a", seq=7, stream="AX_SPILL"), other]
        self.assertEqual(self.clean(lost).figures[VANISHED], 1)
        self.found("lost", lost + [{**other, "stream": "AX_SPILL", "place": 7}])
        self.found("lost", lost[:1])  # nobody listened
        handed = {"t": 2, "e": "handing", "task": "a", "attempt": 1, "pool": "open", "id": "a.AX_LOW.9.2000000000"}
        self.assertEqual(self.clean(lost + [{**other, "stream": "AX_SPILL", "place": 7}, handed]).figures[VANISHED], 1)
        self.found("lost", lost + [handed, {**other, "stream": "AX_LOW", "place": 9}])
        untouched = [accepted("a"), other, record("a", 3, fence=5)]
        self.assertEqual(self.clean(untouched).figures[VANISHED], 1)
        self.found("no worker ever applied", untouched + [{**other, "stream": "AX_WORK", "place": 5}])
        self.assertEqual(self.clean(untouched + [start("a", 1, 5), did("nak", "a", 1.1, 5)]).figures[VANISHED], 1)
        for ack in ("acking", "terming"):
            self.found("no worker ever applied", untouched + [start("a", 1, 5), did(ack, "a", 1.1, 5)])
        failing = [accepted("a", kind="fail", pool="lang"), other, record("a", 3, fence=5)]
        self.assertEqual(self.clean(failing, done_lines=[]).figures[VANISHED], 1)

    def test_what_a_killed_server_kept_is_counted_apart(self):
        kept = good("a") + [{"t": 50, "e": "left", "task": "a", "stream": "AX_HIGH", "seq": 1}]
        killed = fault("kill", "server-0", 0.6, 1, "server")
        self.assertEqual(self.clean(kept + [killed], left={"AX_HIGH": 1}).figures[KEPT], 1)
        self.found("left at the end", kept, left={"AX_HIGH": 1})
        self.found("left at the end", kept + [fault("kill", "server-0", 3, 4, "server")], left={"AX_HIGH": 1})
        self.found("left at the end", kept + [killed], left={"AX_HIGH": 2})
        self.found("left at the end", kept + [killed], left={"AX_HIGH": 1}, servers=3)
        self.found("left at the end", [e for e in kept if e["e"] != "record"] + [killed], left={"AX_HIGH": 1})

    def test_wrong_end(self):
        self.found("every attempt was to fail", [accepted("a", kind="fail"), start("a", 1, 1), did("applied", "a", 1.1, 1),
                                                 record("a", 2)])
        self.found("its attempts were to succeed", good("a") + [{"t": 2, "e": "dead", "task": "a", "reason": "timed out"}])
        self.found("without a reason", [accepted("a", kind="fail"), {"t": 2, "e": "dead", "task": "a", "reason": ""}])
        self.found("for another reason", [accepted("a", kind="term"), {"t": 2, "e": "dead", "task": "a",
                                                                      "reason": "failed 4 times"}])

    def test_unheard_termination_is_counted_apart(self):
        ended = [accepted("a", kind="term"), start("a", 1, 1), did("term", "a", 1.1, 1), record("a", 9)]
        server = fault("kill", "server-0", 1, 2, "server")
        unheard = fault("pause", "dispatch-0", 1, 3, "dispatch")
        died = fault("kill", "dispatch-0", 4, 5, "dispatch")
        for dispatch in (unheard, died):
            self.clean(ended + [server, dispatch])
            self.found("every attempt was to term", ended + [dispatch])  # the advisory was there to be read
        self.found("every attempt was to term", ended + [server])
        self.found("every attempt was to term", ended + [server, fault("kill", "dispatch-0", 9.5, 10, "dispatch")])

    def test_double_effect(self):
        self.found("double effect", good("a") + [did("applied", "a", 3, 2)])

    def test_started_again_after_its_end(self):
        again = good("a") + [start("a", 5, 2, handed=4.9)]
        self.found("after it was acked", again)
        self.found("after it was recorded", [e for e in again if e["e"] != "ack"])
        self.found("after it was dead-lettered", [accepted("a", kind="fail"), start("a", 1, 1), did("nak", "a", 1.1, 1),
                                                  {"t": 1.2, "e": "dead", "task": "a", "reason": "failed"},
                                                  start("a", 2, 2, 2)])

    def unrecorded(self, *more):
        """Acked at 0.3, handed over again at 4.9, recorded after that."""
        return [e for e in good("a") if e["e"] != "record"] + [start("a", 5, 2, handed=4.9), record("a", 6), *more]

    def test_double_faults_are_counted_apart(self):
        again = self.unrecorded()
        killed = fault("kill", "server-0", 0.35, 1, "server")
        self.assertEqual(self.clean(again + [killed]).causes, {SINGLE_KILLED: 1})
        # Once its end is stored no fault is an excuse.
        self.found("after it was acked", again + [killed, record("a", 0.4)])
        # In a cluster one killed server excuses nothing, nor does one killed long after the end.
        self.found("after it was acked", again + [killed], servers=3)
        self.found("after it was acked", again + [fault("kill", "server-0", 3, 4, "server")])
        # Nobody there to record it, and the leader of AX_WORK has been restarted since; one of the two is not enough.
        dispatch = fault("kill", "dispatch-0", 0.25, 2, "dispatch")
        leads = {"servers": 3, "work_leaders": [(-5, "server-2"), (2, "server-1")]}
        restarted = fault("restart", "server-1", 0.5, 1, "server")
        self.assertEqual(self.clean(again + [dispatch, restarted], **leads).causes, {FORGOTTEN: 1})
        self.found("after it was acked", again + [dispatch, fault("restart", "server-2", 0.5, 1, "server")], **leads)
        self.found("after it was acked", again + [dispatch, fault("restart", "server-1", -5, -3, "server")], **leads)
        self.found("after it was acked", again + [restarted], **leads)
        # The servers were away when it was to be recorded, and so long that another took the pool over.
        self.assertEqual(self.clean(again + [restarted, fault("no leader", "open", 1.5, 4, "lease")], **leads).causes, {FORGOTTEN: 1})
        self.found("after it was acked", again + [dispatch], **leads)
        self.assertEqual(self.clean(again + [dispatch, fault("restart", "server-0", 0.5, 1, "server")]).causes, {FORGOTTEN: 1})
        # A leader was back, and had the time to find it, before that.
        late = [{**e, "t": e["t"] + 40, "handed": 44.9} if e.get("fence") == 2 else e for e in again if e["e"] != "record"]
        self.found("after it was acked", late + [record("a", 50), dispatch, fault("restart", "server-1", 40, 41, "server")],
                   servers=3, work_leaders=[(2, "server-1")])
        # But not if that was away, too.
        absences = [fault("kill", "dispatch-1", t, t + 2, "dispatch") for t in (10, 20, 30)]
        self.assertEqual(self.clean(late + [record("a", 50), dispatch, fault("restart", "server-1", 40, 41, "server"), *absences],
                                    servers=3, work_leaders=[(2, "server-1")]).causes, {FORGOTTEN: 1})

    def test_no_room_and_restarted_is_counted_apart(self):
        full = fault("store-full", "servers", 0.1, 2.5, "server")
        killed = fault("kill", "server-0", 3, 3.5, "server")
        self.assertEqual(self.clean(self.unrecorded(full, killed)).causes, {FULL_FORGOTTEN: 1})
        # Each of the two by itself is no excuse, nor a store that was full at another time, nor one of three servers.
        self.found("after it was acked", self.unrecorded(full))
        self.found("after it was acked", self.unrecorded(killed))
        self.found("after it was acked", self.unrecorded(fault("store-full", "servers", 1, 2.5, "server"), killed))
        self.found("after it was acked", self.unrecorded(full, killed), servers=3)
        self.found("after it was acked", self.unrecorded(full, killed, record("a", 2.6)))

    def test_unanswered_hand_off_is_counted_apart(self):
        leads = {"servers": 3, "work_leaders": [(-5, "server-2"), (2, "server-1")]}
        at_once, later, other = (fault("kill", who, t, t + 0.6, "server")
                                 for who, t in (("server-1", 0.35), ("server-1", 0.8), ("server-0", 0.35)))
        self.assertEqual(self.clean(self.unrecorded(at_once), **leads).causes, {UNANSWERED: 1})
        self.found("after it was acked", self.unrecorded(later), **leads)  # it had its answer by then
        self.found("after it was acked", self.unrecorded(other), **leads)  # who leads now has forgotten nothing
        self.found("after it was acked", self.unrecorded(at_once, record("a", 0.4)), **leads)

    def test_two_priorities_are_counted_apart(self):
        twice = self.unrecorded(accepted("a", 0.01, priority="low", seq=7), fault("kill", "dispatch-0", 0.35, 1, "dispatch"))
        twice = [{"priority": "high", **e} if e["e"] == "accepted" else e for e in twice]
        self.assertEqual(self.clean(twice).causes, {TWO_PRIORITIES: 1})
        self.found("after it was acked", [e for e in twice if e["e"] != "fault"])
        self.found("after it was acked", [{**e, "priority": "high"} if e["e"] == "accepted" else e for e in twice])

    def test_dead_key_starts_no_more(self):
        """However late another submission of it is stored."""
        dead = [accepted("a", kind="term"), start("a", 1, 1), did("term", "a", 1.1, 1),
                {"t": 1.2, "e": "dead", "task": "a", "reason": "terminated: poison"}]
        again = [start("a", 2, 2), did("term", "a", 2.1, 2), {"t": 2.2, "e": "dead", "task": "a", "reason": "terminated: poison"}]
        self.clean(dead + [accepted("a", 2, kind="term", asked=0.1)])
        self.found("after it was dead-lettered", dead + [accepted("a", 1.9, kind="term", asked=0.1)] + again)
        self.found("after it was dead-lettered", dead + again + [fault("kill", "server-0", 1.15, 1.5, "server")])

    def test_started_twice_at_once(self):
        self.found("had 2 s", [*good("a"), start("a", 0.25, 2, handed=0.22)])
        soon = [accepted("a"), start("a", 0.1, 1), start("a", 1.9, 2, 2), did("applied", "a", 2, 2), did("ack", "a", 2.1, 2),
                record("a", 2.2)]
        self.found("had 2 s", soon)
        self.clean(soon + [fault("restart", "server-0", 0.5, 1, "server")])
        self.found("reached two workers", good("a") + [start("a", 0.25, 1, handed=0.09, who="worker-1")])
        # The worker has said that this attempt is over: it is lost, not doubled.
        naked = [accepted("a"), start("a", 0.1, 1), did("nak", "a", 0.2, 1), start("a", 5, 1, handed=0.09),
                 did("applied", "a", 5.1, 1), did("ack", "a", 5.2, 1), record("a", 5.3)]
        self.assertEqual(self.clean(naked).causes, {"nak, and the server gave out the same hand-off once more": 1})

    def test_honest_retries(self):
        timed_out = [accepted("a"), start("a", 0.1, 1), did("mute", "a", 0.2, 1), start("a", 2.6, 2, 2), *[
            did(e, "a", 2.7, 2) for e in ("again", "ack")], record("a", 2.8), did("applied", "a", 0.15, 1)]
        self.assertEqual(self.clean(timed_out).causes, {"timed out: no ack": 1})
        naked = [accepted("a"), start("a", 0.1, 1), did("nak", "a", 0.2, 1), start("a", 0.5, 2, 2),
                 did("applied", "a", 0.6, 2), did("ack", "a", 0.7, 2), record("a", 0.8)]
        self.assertEqual(self.clean(naked).causes, {"nak": 1})
        late = [accepted("a"), start("a", 0.1, 1), did("applied", "a", 2.7, 1), did("ack", "a", 2.71, 1),
                start("a", 2.75, 2, 2, handed=2.74), record("a", 2.8)]
        self.assertEqual(self.clean(late).causes, {"timed out: its late ack crossed with the retry": 1})
        self.found("after it was acked", [{**e, "attempt": 1} if e["e"] == "start" else e for e in late])
        self.found("after it was acked", [{**e, "t": 4.0, "handed": 3.9} if e.get("fence") == 2 else e for e in late])
        # A paused worker gets its task when it goes on; the server has counted all along.
        woke = [{**e, "t": 2.65, "got": 2.6, "handed": 0.09} if e["e"] == "start" and e["fence"] == 1 else e for e in late]
        self.found("after it was acked", woke)
        self.clean(woke + [fault("pause", "worker-0", 0.05, 2.6, "worker")])
        self.found("after it was acked", woke + [fault("pause", "worker-1", 0.05, 2.6, "worker")])

    def test_bound(self):
        self.found("held 81 of at most 80", good("a") + [{"t": 1, "e": "over bound", "stream": "AX_HIGH", "stored": 81,
                                                           "bound": 80}])

    def test_accepted_is_stored(self):
        self.found("was given as the place of", good("a") + [{**e, "seq": 7} if e["e"] == "accepted" else e
                                                             for e in good("b", 1, 2) + good("c", 2, 3)])
        self.found("refused as wrong", good("a") + [{"t": 1, "e": "refused", "error": {"code": 400}}])

    def rated(self, times):
        events = []
        for i, t in enumerate(times):
            events += [e if e["e"] != "start" else {**e, "pool": "rated", "handed": t}
                       for e in good(f"r{i}", t - 0.1, i + 1)]
        return events

    def test_burst(self):
        steady = [1 + i / 10 for i in range(50)]
        self.clean(self.rated(steady + [6.0 + i / 1000 for i in range(4)]))
        self.found("starts over rate × time", self.rated(steady + [6.0 + i / 1000 for i in range(8)]))
        # Twice the rate, as two dispatchers that both lead would make it.
        twice = [1 + i / 20 for i in range(60)]
        self.found("starts over rate × time", self.rated(twice))
        # A takeover may cost one burst, not two.
        taken = [fault("kill", "dispatch-0", 6.46, 6.5, "dispatch")]
        bursts = steady + [6.45 + i / 1000 for i in range(5)] + [6.55 + i / 1000 for i in range(5)]
        self.found("starts over rate × time", self.rated(bursts))
        self.clean(self.rated(bursts) + taken)
        more = bursts + [6.56 + i / 1000 for i in range(5)]
        self.found("starts over rate × time", self.rated(more) + taken)

        # Held up for 0.145 s on the way to the server, and stored with those that come after them: it is for dispatch to
        # count those that are on their way (tests/unit/dispatch/test_unanswered.c), not for the judge to let them pass.
        on_their_way = steady + [6.5 + i / 1000 for i in range(5 + 4)]
        self.found("starts over rate × time", self.rated(on_their_way))
        # What a busy machine held up arrives at once after that.
        held_up = self.rated(steady + [6.45 + i / 1000 for i in range(14)])
        self.found("starts over rate × time", held_up)
        self.clean(held_up + [fault("busy", "machine", 1, 6.5, "machine")])
        self.clean(held_up + [fault("no leader", "rated", 1, 6.4, "lease")])
        self.found("starts over rate × time", held_up + [fault("no leader", "other", 1, 6.4, "lease")])

    def test_examples(self):
        plain = [accepted("a", pool="lang"), record("a", 1)]
        self.found("no example worker finished", [*plain], done_lines=[], lost_lines=0)
        self.clean([*plain], done_lines=[("a", "1")], lost_lines=0)
        self.clean([*plain], done_lines=[], lost_lines=1)

    def test_problems_of_others(self):
        self.found("ended by itself", good("a"), problems=["dispatch-0 ended by itself with -11"])

    def test_history(self):
        judge = self.judge(good("a") + [fault("kill", "server-0", 0.2, 0.3, "server"),
                                        fault("kill", "server-0", 99, 100, "server")])
        lines = "\n".join(judge.history("a"))
        for word in ("accepted", "start", "applied", "ack", "record", "server-0"):
            self.assertIn(word, lines)
        self.assertEqual(lines.count("fault"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
