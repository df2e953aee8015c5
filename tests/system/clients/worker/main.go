// A worker with nats.go: worker POOL consume|fetch|ahead SLOTS WORK_MS. "consume" is Consume() with
// its defaults, which asks for 500 messages at once and works them one after the other; "fetch" is
// SLOTS workers that each take one at a time; "ahead" is SLOTS workers that each ask for the next
// one while they work. Prints "start KEY FENCE ATTEMPT NANOSECONDS" and "end KEY NANOSECONDS" for
// each task.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	pool, mode := os.Args[1], os.Args[2]
	slots, _ := strconv.Atoi(os.Args[3])
	ms, _ := strconv.Atoi(os.Args[4])
	nc, err := nats.Connect(os.Getenv("NATS_URL"), nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		log.Fatal(err)
	}
	consumer, err := js.Consumer(context.Background(), "AX_WORK", pool)
	if err != nil {
		log.Fatal(err)
	}
	work := func(msg jetstream.Msg) {
		meta, err := msg.Metadata()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("start %s %d %s %d\n", msg.Headers().Get("Ax-Key"), meta.Sequence.Stream,
			msg.Headers().Get("Ax-Attempt"), time.Now().UnixNano())
		time.Sleep(time.Duration(ms) * time.Millisecond)
		fmt.Printf("end %s %d\n", msg.Headers().Get("Ax-Key"), time.Now().UnixNano())
		if err := msg.Ack(); err != nil {
			log.Print(err)
		}
	}
	if mode == "consume" {
		if _, err := consumer.Consume(work); err != nil {
			log.Fatal(err)
		}
		select {}
	}
	pulls := 1
	if mode == "ahead" {
		pulls = 2
	}
	for range slots {
		var one sync.Mutex // a worker works one task at a time
		for range pulls {
			go func() {
				for {
					if msg, err := consumer.Next(jetstream.FetchMaxWait(5 * time.Second)); err == nil {
						one.Lock()
						work(msg)
						one.Unlock()
					}
				}
			}()
		}
	}
	select {}
}
