package across

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster/mem"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/engine"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lab"
)

// The lab's side of the protocol, with workers that are goroutines here, and an
// engine in memory whose replies take a while.
func TestWriterGetsInBetweenReadersOfOtherProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := lab.Experiment{Readers: 3, Hold: 50 * time.Millisecond, Writers: 1, Deadline: 500 * time.Millisecond, Asking: 220 * time.Millisecond}
		server := mem.New()
		var workers []*worker
		var running sync.WaitGroup
		for i := range e.Readers + e.Writers {
			machine := server.Peer()
			machine.SetLink(mem.Link{ReplyDelay: time.Millisecond})
			toWork, orders := io.Pipe()
			answers, fromWork := io.Pipe()
			running.Go(func() {
				if err := Work(machine, new(engine.Sent), toWork, fromWork); err != nil {
					Fail(fromWork, err)
				}
				fromWork.Close()
			})
			w := &worker{in: orders, orders: json.NewEncoder(orders), answers: json.NewDecoder(answers)}
			if err := w.orders.Encode(order{e, i, "lock"}); err != nil {
				t.Fatal(err)
			}
			workers = append(workers, w)
		}
		if _, err := all(workers, func(a answer) bool { return a.Ready }); err != nil {
			t.Fatal(err)
		}
		for _, w := range workers {
			if err := w.orders.Encode(start{time.Now().Add(100 * time.Millisecond)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := all(workers[e.Readers:], func(a answer) bool { return a.Asked }); err != nil {
			t.Fatal(err)
		}
		for _, w := range workers {
			w.in.Close()
		}
		answers, err := all(workers, func(a answer) bool { return a.Part != nil })
		if err != nil {
			t.Fatal(err)
		}
		running.Wait()
		var parts []lab.Part
		for _, a := range answers {
			parts = append(parts, *a.Part)
		}
		r := lab.Together(contender.Contender{}, parts)
		if err := lab.Exclusive(r.Lanes); err != nil {
			t.Error(err)
		}
		if r.PeakReaders != 3 || len(r.Lanes) != 4 || len(r.Writes) != 1 || len(r.Acquired) != r.Reads+1 {
			t.Fatalf("peak %d, %d lanes, %d grants for %d reads, writes %+v", r.PeakReaders, len(r.Lanes), len(r.Acquired), r.Reads, r.Writes)
		}
		if w := r.Writes[0]; w.GaveUp || w.Asked != e.Asking || w.Waited > e.Hold+10*time.Millisecond {
			t.Errorf("the writer: %+v, want a wait of at most a section", w)
		}
	})
}

func TestWorkerThatIsNotToldWhatToDoSaysSo(t *testing.T) {
	err := Work(mem.New(), new(engine.Sent), strings.NewReader(""), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "not for people") {
		t.Errorf("%v", err)
	}
}
