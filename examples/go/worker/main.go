// Works a pool: worker POOL. A plain pull consumer, nothing of AX is imported.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Your transaction. `… ON CONFLICT (task) DO UPDATE … WHERE fence < :fence` keeps an older attempt
// from writing late.
func work(task string, fence uint64, body string) error {
	if body == "fail" {
		return fmt.Errorf("the mail server is away")
	}
	return nil
}

func main() {
	nc, err := nats.Connect(cmp.Or(os.Getenv("NATS_URL"), nats.DefaultURL))
	if err != nil {
		log.Fatal(err)
	}
	js, _ := jetstream.New(nc)
	consumer, err := js.Consumer(context.Background(), "AX_WORK", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for {
		msg, err := consumer.Next()
		if err != nil {
			continue // nothing to do for a while
		}
		meta, _ := msg.Metadata()
		task, fence, body := msg.Headers().Get("Ax-Task"), meta.Sequence.Stream, string(msg.Data())
		if body == "" {
			msg.TermWithReason("empty body") // poison: no retry, straight to the dead letters
		} else if err := work(task, fence, body); err != nil {
			fmt.Printf("failed task=%s fence=%d: %v\n", task, fence, err)
			msg.Nak() // tried again after the backoff
		} else {
			msg.Ack() // after the commit: never before it, never in a defer, or a crash loses the task
			fmt.Printf("done task=%s fence=%d body=%s\n", task, fence, body)
		}
	}
}
