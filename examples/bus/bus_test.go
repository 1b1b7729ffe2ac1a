package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func newBus(t *testing.T) *bus {
	t.Helper()
	in, err := powerOn(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.powerOff)
	b, err := dial(in.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.conn.Close() })
	return b
}

// TestWithoutMutexAnswersGoAstray shows that the test below can fail.
func TestWithoutMutexAnswersGoAstray(t *testing.T) {
	wrong, err := share(newBus(t), (*bus).exchange)
	if err != nil {
		t.Fatal(err)
	}
	if wrong == 0 {
		t.Error("every answer found its caller without a lock")
	}
}

func TestWithMutexAnswersFindTheirCallers(t *testing.T) {
	wrong, err := share(newBus(t), func(b *bus, address byte) (uint16, error) {
		return b.register(t.Context(), address)
	})
	if err != nil || wrong != 0 {
		t.Errorf("%d answers went to the wrong caller, error %v", wrong, err)
	}
}

func TestBusyBusIsReportedAndStaysUsable(t *testing.T) {
	b := newBus(t)
	b.mu.Lock()
	began := time.Now()
	_, err := b.register(t.Context(), 1)
	if waited := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || waited < time.Second {
		t.Errorf("after %s: %v, want a deadline after a second", waited, err)
	}
	b.mu.Unlock()
	if got, err := b.register(t.Context(), 1); err != nil || got != value(1) {
		t.Errorf("the free bus answers %#x, %v; want %#x", got, err, value(1))
	}
}

func TestStory(t *testing.T) {
	var told strings.Builder
	if err := story(io.MultiWriter(&told, t.Output())); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"with the Mutex:      0 of 200 answers went to the wrong caller",
		"gave up waiting",
		"register 7 holds 0x07f8",
	} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("the story does not say %q", want)
		}
	}
}
