// Command kernels runs one of the programs beside it, named by its argument, while inspect looks at its locks,
// and prints what inspect finds, an object of JSON a line. It takes the place of the main.go that the programs
// come with.
package main

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
)

// yieldCount is what the programs want of their main.go, as is register.
const yieldCount = 10

var programs = map[string]func(){}

func register(name string, f func()) { programs[name] = f }

const patience = 500 * time.Millisecond

func main() {
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	found := func(kind string, note bool) {
		mu.Lock()
		defer mu.Unlock()
		out.Encode(map[string]any{"kind": kind, "note": note})
	}
	var everything watchAll
	drawbridge.ObserveAll(&everything)
	inspect.Alarm{WaitingFor: patience, Func: func(s inspect.Stall) {
		if !s.Ended {
			found("stall", false)
		}
	}}.Start()
	stop := inspect.Detect{Patience: patience, Func: func(m inspect.Misuse) { found(m.Kind.String(), m.Note) }}.Start()

	run(os.Args[1])
	// Who waits for a lock is given time to be found, by the detector and by the alarm.
	for end := time.Now().Add(3 * patience); everything.waiting.Load() > 0 && time.Now().Before(end); {
		time.Sleep(patience / 10)
	}
	stop()
}

// run runs a program. They end with the profile of leaked goroutines, and panic where Go has none.
func run(name string) {
	defer func() { recover() }()
	programs[name]()
}

// watchAll makes every lock known to the alarms when it is first used, and counts who waits.
type watchAll struct {
	known   sync.Map
	waiting atomic.Int64
}

func (w *watchAll) Observe(_ context.Context, e drawbridge.Event) {
	switch {
	case e.Kind == drawbridge.Waiting:
		w.waiting.Add(1)
	case e.Wait != 0 && e.Kind != drawbridge.Released:
		w.waiting.Add(-1)
	}
	if _, known := w.known.LoadOrStore(e.Lock, true); !known {
		inspect.Watch("lock", e.Lock.(drawbridge.Observable))
	}
}
