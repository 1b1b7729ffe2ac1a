package inspect_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
)

func Example() {
	var routes drawbridge.RWMutex
	defer inspect.Watch("routes", &routes)()

	// What a service labels its requests with is shown beside their holds.
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("route", "/users"))
	routes.WithLock(ctx, func(context.Context) error {
		for _, l := range inspect.Locks() {
			fmt.Println(l.Name, l.State.Writers, "writer, for", l.Holders[0].Labels)
		}
		return nil
	})
	// Output: routes 1 writer, for [{route /users}]
}

func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/debug/locks/", inspect.Handler())
	internal := &http.Server{Addr: "localhost:6060", Handler: mux}
	go func() { log.Print(internal.ListenAndServe()) }()
}

func ExampleAlarm() {
	stop := inspect.Alarm{
		HeldFor:    5 * time.Second,
		WaitingFor: time.Second,
		Func: func(s inspect.Stall) {
			if !s.Ended {
				log.Printf("%s is stuck, %d wait: %v", s.Lock.Name, s.Waiters, s.Lock.Holders)
			}
		},
	}.Start()
	defer stop()
}

// The TestMain of a package whose tests shall fail when they misuse a lock.
func ExampleVerifyTestMain() {
	TestMain := func(m *testing.M) { inspect.VerifyTestMain(m) }
	_ = TestMain
}
