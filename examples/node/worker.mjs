// Works a pool: node worker.mjs POOL. A plain pull consumer, nothing of AX is imported.
import { connect } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";

async function work(task, fence, body) {
  if (body === "fail") throw new Error("the mail server is away");
  // Your transaction. `INSERT … ON CONFLICT (task) DO UPDATE … WHERE fence < :fence` keeps an older
  // attempt of the same task from writing after a newer one.
}

const [pool] = process.argv.slice(2);
const nc = await connect({ servers: process.env.NATS_URL ?? "nats://127.0.0.1:4222" });
const consumer = await jetstream(nc).consumers.get("AX_WORK", pool);

for (;;) {
  const msg = await consumer.next({ expires: 5000 });
  if (!msg) continue; // nothing to do for 5 s
  const [task, fence, body] = [msg.headers.get("Ax-Task"), msg.info.streamSequence, msg.string()];
  if (!body) {
    msg.term("empty body"); // poison: no retry, straight to the dead letters
    continue;
  }
  try {
    await work(task, fence, body);
  } catch (error) {
    console.log(`failed task=${task} fence=${fence}: ${error.message}`);
    msg.nak(); // tried again after the backoff
    continue;
  }
  msg.ack(); // after the commit: never before it, never in a `finally`, or a crash loses the task
  console.log(`done task=${task} fence=${fence} body=${body}`);
}
