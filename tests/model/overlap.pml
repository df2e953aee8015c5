/* One task, two dispatchers: the pool's lease is taken over while the old leader still goes on (killed, cut off, or paused
 * in the middle of a step and waking up with what it knew).
 *
 * holds: takeover TAKEOVERS=1
 * holds: servers-restart TAKEOVERS=1 RESTARTS=1
 * long: recalled TAKEOVERS=1 RECALLS=1
 * long: removed TAKEOVERS=1 REMOVALS=1
 * long: more-restarts TAKEOVERS=1 RESTARTS=1 NAKS=1
 * long: believers TAKEOVERS=1 BELIEVE=1 NAKS=1
 * long: more TAKEOVERS=1 NAKS=1 UNHEARD=1
 * long: there-and-back TAKEOVERS=2 NAKS=1
 * long: fed-twice TAKEOVERS=1 FEEDER_DEATHS=1
 * long: deaths TAKEOVERS=1 DEATHS=1
 * fails: no-second-look "DONE WITHOUT AN EFFECT" TAKEOVERS=1 BELIEVE=1
 * fails: no-abandon "RAN AGAIN AFTER AN ACK" TAKEOVERS=1 FEEDER_DEATHS=1
 * fails: keeps-sending "RAN AGAIN AFTER AN ACK" TAKEOVERS=1 RESTARTS=1
 * fails: no-write-id "TWO DEAD LETTERS" TAKEOVERS=1 NAKS=1
 */
#define ND 2
#define feeder_drops false
#define ack_first false
#define remove_first false
#define msgid_attempt false
#define no_look false
#define ignore_late false
#define no_adopt false
#define no_events false
#define no_look_at_stale false
#define no_epoch false
#define no_second_look (V == 1)
#define no_abandon (V == 2 || BELIEVE)
#define no_read_done false
#define no_write_id (V == 4)
#define keeps_sending (V == 5)
#define believe_forged false
#define gone_is_done false
#define take_back_alone false
#define silence_is_done false
#define any_place false
#define clustered false
#include "task.inc"
