/* One task, one dispatcher, on a cluster: leaders of streams and consumers change. What is stored stays, the duplicate
 * window too; copies of acks are lost, answers are lost, deliveries that were not replicated happen again.
 *
 * holds: leader-change STEPDOWNS=1 UNSENT=1
 * long: unheard STEPDOWNS=1 UNHEARD=1 UNSENT=1
 * fails: no-look "RAN AGAIN AFTER AN ACK" STEPDOWNS=1 UNHEARD=1
 * fails: no-look-at-stale "LEFT OVER" STEPDOWNS=1 UNANSWERED=1 NAKS=1
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
#define no_abandon false
#define keeps_sending false
#define believe_forged false
#define gone_is_done false
#define take_back_alone false
#define silence_is_done false
#define any_place false
#define clustered true
#include "task.inc"
