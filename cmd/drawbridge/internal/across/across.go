// Package across runs the starvation experiment across processes: each reader
// and writer is a process of its own, and the lock is one that machines share.
//
// A worker is this program again. It is told on its standard input what to do
// and when to begin, and works until that ends, so that none outlives the lab.
// It answers on its standard output, a line of JSON each.
package across

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lab"
)

const (
	// Most is how many processes there can be.
	Most = 100
	// Patience is how long they have to start, to connect, and to clean up.
	Patience = 30 * time.Second
)

// order is what a worker is told first.
type order struct {
	Experiment lab.Experiment
	Number     int    // of the lane
	Lock       string // its name
}

// start is what it is told when all are ready.
type start struct{ Began time.Time }

// answer is a line of a worker; one of its fields is set.
type answer struct {
	Ready bool      `json:",omitempty"` // it is connected
	Asked bool      `json:",omitempty"` // a writer has its first attempt behind it
	Part  *lab.Part `json:",omitempty"` // it is through
	Error string    `json:",omitempty"`
}

// Run does the experiment with the lock of the engine at url.
func Run(ctx context.Context, e lab.Experiment, c contender.Contender, url string) (lab.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return lab.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*Patience+e.Length()+e.Deadline)
	defer cancel() // ends what is left of the workers
	lock := "drawbridge-lab-" + rand.Text()
	workers := make([]*worker, e.Readers+e.Writers)
	defer func() {
		cancel()
		for _, w := range workers {
			if w != nil {
				w.command.Wait()
			}
		}
	}()
	for i := range workers {
		if workers[i], err = begin(ctx, self, url, order{e, i, lock}); err != nil {
			return lab.Result{}, err
		}
	}
	if _, err := all(workers, func(a answer) bool { return a.Ready }); err != nil {
		return lab.Result{}, err
	}
	began := time.Now().Add(100 * time.Millisecond) // the line is read by then
	for _, w := range workers {
		if err := w.orders.Encode(start{began}); err != nil {
			return lab.Result{}, err
		}
	}
	// As in one process, the readers keep a writer company whose deadline
	// is after the end.
	select {
	case <-time.After(time.Until(began.Add(e.Length()))):
	case <-ctx.Done():
		return lab.Result{}, errors.New("interrupted")
	}
	if _, err := all(workers[e.Readers:], func(a answer) bool { return a.Asked }); err != nil {
		return lab.Result{}, err
	}
	for _, w := range workers {
		w.in.Close()
	}
	answers, err := all(workers, func(a answer) bool { return a.Part != nil })
	if err != nil {
		return lab.Result{}, err
	}
	var parts []lab.Part
	for _, a := range answers {
		parts = append(parts, *a.Part)
	}
	result := lab.Together(c, parts)
	return result, lab.Exclusive(result.Lanes)
}

// worker is a process, as the lab sees it.
type worker struct {
	command *exec.Cmd
	in      io.Closer
	orders  *json.Encoder
	answers *json.Decoder
	stderr  bytes.Buffer
}

func begin(ctx context.Context, self, url string, o order) (*worker, error) {
	w := &worker{command: exec.CommandContext(ctx, self, "lab-worker")}
	w.command.Env = append(os.Environ(), "DRAWBRIDGE_LAB_ENGINE="+url) // not an argument, which others can list
	w.command.Stderr = &w.stderr
	in, err := w.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.command.Start(); err != nil {
		return nil, err
	}
	w.in, w.orders, w.answers = in, json.NewEncoder(in), json.NewDecoder(out)
	return w, w.orders.Encode(o)
}

// next reads answers until one is the wanted.
func (w *worker) next(wanted func(answer) bool) (answer, error) {
	for {
		var a answer
		switch err := w.answers.Decode(&a); {
		case err != nil:
			w.command.Wait() // for all that it said
			return a, fmt.Errorf("a worker ended before it was through: %w: %q", err, bytes.TrimSpace(w.stderr.Bytes()))
		case a.Error != "":
			return a, errors.New(a.Error)
		case wanted(a):
			return a, nil
		}
	}
}

// all waits for an answer of each worker.
func all(workers []*worker, wanted func(answer) bool) ([]answer, error) {
	answers, errs := make([]answer, len(workers)), make([]error, len(workers))
	var wg sync.WaitGroup
	for i, w := range workers {
		wg.Go(func() { answers[i], errs[i] = w.next(wanted) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err // of one; the others say the same
		}
	}
	return answers, nil
}
