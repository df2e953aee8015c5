// Submits one task: node producer.mjs POOL KEY BODY. A plain JetStream publish, nothing of AX is
// imported.
import { connect } from "@nats-io/transport-node";
import { jetstream, JetStreamApiError } from "@nats-io/jetstream";

const [pool, key, body] = process.argv.slice(2);
const nc = await connect({ servers: process.env.NATS_URL ?? "nats://127.0.0.1:4222" });
const js = jetstream(nc);

for (;;) {
  try {
    // msgID is the idempotency key: publishing it again, today or in six days, starts nothing new.
    const ack = await js.publish(`ax.submit.high.${pool}`, body, { msgID: key });
    console.log(`stream=${ack.stream} seq=${ack.seq} duplicate=${ack.duplicate}`);
    break;
  } catch (error) {
    console.log(`${error.name}: ${error.message}`);
    // No answer in time: to send the same key again is safe.
    if (!(error instanceof JetStreamApiError)) continue;
    const hint = /retry in (\d+)ms/.exec(error.message);
    if (!hint) throw error; // the task itself is wrong, sending it again cannot help
    await new Promise((done) => setTimeout(done, Number(hint[1])));
  }
}
await nc.close();
