package rig

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// KilledHolder kills a holder's process: the next one has the lock within most, and a higher token.
func KilledHolder(t *testing.T, server string, l *cluster.Locker, ttl, most time.Duration) {
	name := Fresh(t)
	c := Spawn(t, "write", server, name, ttl)
	token := c.Expect(t, "held")
	killed := time.Now()
	c.Signal(syscall.SIGKILL)
	h := Locked(t, l, name)
	AtMost(t, "takeover", killed, most)
	if int64(h.Token()) <= token {
		t.Errorf("token %d after %d", h.Token(), token)
	}
	Unlocked(t, h)
}

// KilledWaiter kills a writer's process that waits behind a reader: the next reader enters within most.
func KilledWaiter(t *testing.T, server string, l, other *cluster.Locker, ttl, most time.Duration) {
	name := Fresh(t)
	inside := RLocked(t, l, name)
	c := Spawn(t, "write", server, name, ttl)
	Waiters(t, l, name, 1)
	killed := time.Now()
	c.Signal(syscall.SIGKILL)
	h := RLocked(t, other, name)
	AtMost(t, "a reader entered past a dead writer", killed, most)
	Unlocked(t, h)
	Unlocked(t, inside)
}

// StoppedHolder is the picture of the paused holder: stopped between its check and its write, it wakes up after its lease,
// and its write is refused where the data is. write is one to that data.
func StoppedHolder(t *testing.T, server string, l *cluster.Locker, name string, ttl, most time.Duration, write func(cluster.Token) error) {
	c := Spawn(t, "write", server, name, ttl)
	old := cluster.Token(c.Expect(t, "held"))
	if err := write(old); err != nil {
		t.Fatal(err)
	}
	c.Expect(t, "checked")
	c.Signal(syscall.SIGSTOP)
	stopped := time.Now()
	h := Locked(t, l, name)
	AtMost(t, "takeover", stopped, most)
	if err := write(h.Token()); err != nil {
		t.Fatal(err)
	}
	c.Drain()
	c.Signal(syscall.SIGCONT)
	late := cluster.Token(c.Expect(t, "write"))
	if err := write(late); !errors.Is(err, cluster.ErrStale) {
		t.Errorf("the write of a holder that was past its check: %v", err)
	}
	// After that one, not a single check says yes.
	for line := range c.Lines {
		if line == "lost" {
			break
		}
		t.Errorf("the holder went on: %q", line)
	}
	Unlocked(t, h)
}
