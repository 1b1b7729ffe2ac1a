// Package linear checks histories of the real locks under stress for
// linearizability: is there one order of the calls, each at a moment between
// its call and its return, in which a lock that does one thing at a time would
// have answered the same?
package linear

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"
)

// No call may leave a goroutine behind, whether it got the lock or gave up.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder takes down what several clients do.
type recorder struct {
	began time.Time

	mu  sync.Mutex
	all []porcupine.Operation
}

func newRecorder() *recorder { return &recorder{began: time.Now()} }

// client is the record of one client, in its own memory until it is done: the
// clients must not be ordered by being watched.
type client struct {
	of  *recorder
	id  int
	ops []porcupine.Operation
	rnd *rand.Rand
}

func (c *client) now() int64 { return int64(time.Since(c.of.began)) }

func (c *client) add(call int64, in, out any) {
	c.ops = append(c.ops, porcupine.Operation{ClientId: c.id, Input: in, Output: out, Call: call, Return: c.now()})
}

// run lets n clients run at once and returns all that they did.
func (r *recorder) run(n int, seed uint64, f func(*client)) []porcupine.Operation {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			c := &client{of: r, id: i, rnd: rand.New(rand.NewPCG(seed, uint64(i)))}
			<-start
			f(c)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.all = append(r.all, c.ops...)
		})
	}
	close(start)
	all.Wait()
	return r.all
}

// linearizable fails with a picture of the history if it is not.
func linearizable(t *testing.T, m porcupine.Model, history []porcupine.Operation) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(m, history, time.Minute)
	if result == porcupine.Ok {
		return
	}
	if result == porcupine.Unknown {
		t.Fatalf("a history of %d calls took longer than a minute to check", len(history))
	}
	dir, err := os.MkdirTemp("", "linear")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "history.html")
	if err := porcupine.VisualizePath(m, info, path); err != nil {
		t.Fatal(err)
	}
	t.Fatalf("a history of %d calls is not linearizable; see %s", len(history), path)
}

// rounds is how many histories each test checks.
func rounds(t *testing.T) int {
	if testing.Short() {
		return 20
	}
	return 150
}
