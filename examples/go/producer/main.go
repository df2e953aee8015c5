// Submits one task: producer POOL KEY BODY. A plain JetStream publish, nothing of AX is imported.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var hint = regexp.MustCompile(`retry in (\d+ms)`)

func main() {
	pool, key, body := os.Args[1], os.Args[2], os.Args[3]
	nc, err := nats.Connect(cmp.Or(os.Getenv("NATS_URL"), nats.DefaultURL))
	if err != nil {
		log.Fatal(err)
	}
	js, _ := jetstream.New(nc)
	for {
		// The message id is the idempotency key: publishing it again, today or in six days, starts
		// nothing new.
		ack, err := js.Publish(context.Background(), "ax.submit.high."+pool, []byte(body),
			jetstream.WithMsgID(key))
		if err == nil {
			fmt.Printf("stream=%s seq=%d duplicate=%v\n", ack.Stream, ack.Sequence, ack.Duplicate)
			return
		}
		fmt.Println(err)
		if refused := new(jetstream.APIError); errors.As(err, &refused) {
			found := hint.FindStringSubmatch(refused.Description)
			if found == nil {
				log.Fatal("the task itself is wrong, sending it again cannot help")
			}
			pause, _ := time.ParseDuration(found[1])
			time.Sleep(pause)
		} // any other error: no word in time, the same key again is safe
	}
}
