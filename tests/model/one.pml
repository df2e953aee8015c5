/* One task, one dispatcher. Variants break one rule of docs/design/attempts.md each.
 *
 * holds: deaths DEATHS=1 UNHEARD=1 NAKS=1
 * holds: unanswered UNANSWERED=1 UNSENT=1 NAKS=1 TERMS=1
 * holds: feeder-deaths FEEDER_DEATHS=1 NAKS=1 UNHEARD=1
 * holds: recreated RECREATIONS=1 UNHEARD=1 NAKS=1
 * holds: servers-restart RESTARTS=1 UNHEARD=1 NAKS=1
 * holds: forged FORGED=2 NAKS=1
 * holds: recalled RECALLS=1 DEATHS=1 UNHEARD=1
 * holds: removed REMOVALS=1 DEATHS=1
 * long: more DEATHS=1 UNHEARD=1 NAKS=1 WORKER_DEATHS=1 TERMS=1
 * long: more-unanswered UNANSWERED=2 UNSENT=1 NAKS=1 TERMS=1 UNHEARD=1 WORKER_DEATHS=1 DEATHS=1
 * long: more-restarts DEATHS=1 UNHEARD=1 RESTARTS=1 NAKS=1
 * long: more-recalled RECALLS=2 DEATHS=1 UNHEARD=1 NAKS=1 UNANSWERED=1
 * long: more-removed REMOVALS=1 DEATHS=1 UNHEARD=1 NAKS=1 RESTARTS=1
 * long: recalled-restart RECALLS=1 DEATHS=1 RESTARTS=1
 * long: absent DEATHS=1 NAKS=1 ABSENCES=1 UNHEARD=1
 * fails: remove-first "DONE WITHOUT AN EFFECT" DEATHS=1
 * fails: no-write-id "TWO DEAD LETTERS" UNANSWERED=1
 * fails: no-look "RAN AGAIN AFTER AN ACK" UNHEARD=1
 * fails: feeder-drops "LOST" NAKS=1
 * fails: ignore-late "LATE ACK IGNORED"
 * fails: msgid-attempt "DONE WITHOUT AN EFFECT" FEEDER_DEATHS=1 NAKS=1
 * fails: no-events "DONE WITHOUT AN EFFECT" TERMS=1 UNHEARD=1
 * fails: no-epoch "DONE WITHOUT AN EFFECT" RECREATIONS=1
 * fails: no-adopt "RAN AGAIN AFTER AN ACK" DEATHS=1 ABSENCES=1
 * fails: ack-first "LOST" DEATHS=1
 * fails: no-read-done "RAN AGAIN AFTER AN ACK" FEEDER_DEATHS=1 DEATHS=1 NAKS=1
 * fails: believe-forged "DONE WITHOUT AN EFFECT" FORGED=1
 * fails: gone-is-done "DONE WITHOUT AN EFFECT" FORGED=1
 * fails: take-back-alone "DONE WITHOUT AN EFFECT" RECALLS=1 DEATHS=1
 * fails: any-place "LOST" RECALLS=1 DEATHS=1 RESTARTS=1
 * fails: silence-is-done "DONE WITHOUT AN EFFECT" REMOVALS=1
 * fails: no-look-at-stale "STUCK" UNANSWERED=1 NAKS=1
 */
#define feeder_drops (V == 1)
#define ack_first (V == 2)
#define remove_first (V == 3)
#define msgid_attempt (V == 4)
#define no_look (V == 5)
#define ignore_late (V == 6)
#define no_adopt (V == 7)
#define no_write_id (V == 8)
#define no_second_look false
#define no_events (V == 10)
#define no_look_at_stale (V == 11)
#define no_epoch (V == 12)
#define no_read_done (V == 13)
#define believe_forged (V == 14)
#define gone_is_done (V == 15)
#define take_back_alone (V == 16)
#define silence_is_done (V == 17)
#define any_place (V == 18)
#define clustered false
#define no_abandon false
#define keeps_sending false
#include "task.inc"
