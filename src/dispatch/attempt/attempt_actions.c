#include "dispatch/attempt/attempt_actions.h"

#include "base/fault.h"
#include "bus/ack.h"
#include "dispatch/attempt/acks.h"
#include "dispatch/attempt/ending.h"
#include "dispatch/attempt/hand_off.h"
#include "dispatch/attempt/verify.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"

/* Those that belong to the staged list, to the order of groups, and to the pool. */

static void stage(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    queue_stage(a, false);
}

static void unstage(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    queue_unstage(a);
}

static void nak_later(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    FAULT("stop.give-back.before");
    ack_send_nak(a->pool->dispatch->wire, a->lease.subject, QUEUE_NAK_MS);
    FAULT_SENT("stop.give-back.after", a->pool->dispatch->wire);
}

static void renew(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    attempt_renew(a);
}

static void keep_slot(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    ordered_keep(a);
}

static void disorder(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (a->turn.slot != NULL)
        ordered_invalidate(a->queue);
}

static void forget(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    struct pool *p = a->pool;
    attempt_forget(a);
    pump_soon(p);
}

#define DOES(name, fn) [ATTEMPT_DO_##name] = fn

attempt_action_fn *const attempt_actions[ATTEMPT_ACTION_COUNT] = {
    DOES(STAGE, stage),
    DOES(PUT_BACK, hand_off_put_back),
    DOES(UNSTAGE, unstage),
    DOES(GIVE_BACK, hand_off_give_back),
    DOES(READ_DEAD, hand_off_read_dead),
    DOES(CATCH_UP, hand_off_catch_up),
    DOES(READ_RECORD, hand_off_read_record),
    DOES(READ_CONTENT, ending_read_content),
    DOES(PUBLISH, hand_off_publish),
    DOES(BEGIN, hand_off_begin),
    DOES(BEGIN_AGAIN, hand_off_begin_again),
    DOES(REVOKE_OLDER, hand_off_revoke_older),
    DOES(REVOKE, ending_revoke),
    DOES(TAKE_PENDING, acks_take_pending),
    DOES(KEEP_PENDING, acks_keep_pending),
    DOES(RENEW, renew),
    DOES(LIMIT_AGAIN, hand_off_limit_again),
    DOES(END_ACTIVITY, verify_end_activity),
    DOES(READ_HAND_OFF, verify_read_hand_off),
    DOES(READ_CONSUMER, verify_read_consumer),
    DOES(READ_STREAM, verify_read_stream),
    DOES(READ_QUEUE, verify_read_queue),
    DOES(READ_TERMINATION, verify_read_termination),
    DOES(LOSE, verify_lose),
    DOES(SAY_REMOVED, verify_say_removed),
    DOES(SAY_UNHEARD, verify_say_unheard),
    DOES(DECIDE, ending_decide),
    DOES(RECORD, ending_record),
    DOES(WRITE_RETRY, ending_write_retry),
    DOES(WRITE_DEAD_LETTER, ending_write_dead_letter),
    DOES(READ_PLACE, ending_read_place),
    DOES(NOTE_WRITTEN, ending_note_written),
    DOES(COUNT_NEXT, ending_count_next),
    DOES(RELEASE, ending_release),
    DOES(ACK_DONE, ending_ack_done),
    DOES(ACK_DROPPED, ending_ack_dropped),
    DOES(NAK_DEAD, hand_off_nak_dead),
    DOES(NAK_LATER, nak_later),
    DOES(REMOVE_HAND_OFF, ending_remove_hand_off),
    DOES(SUPERSEDE, acks_supersede),
    DOES(HONOUR, acks_honour_ending),
    DOES(TELL_CANCELLED, ending_tell_cancelled),
    DOES(TELL_NOT_CANCELLED, ending_tell_not_cancelled),
    DOES(KEEP_SLOT, keep_slot),
    DOES(DISORDER, disorder),
    DOES(FORGET, forget),
};
