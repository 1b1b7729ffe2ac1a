package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/inspect"
)

// lockName is what the lock of the table is called on its page.
const lockName = "routing table"

// blame logs why a request was answered 503, and who held the lock when it
// gave up waiting: at most once a second, because they give up in crowds.
type blame struct {
	logger *slog.Logger

	mu      sync.Mutex
	last    time.Time
	skipped int
}

func (b *blame) log(err error) {
	b.mu.Lock()
	if time.Since(b.last) < time.Second {
		b.skipped++
		b.mu.Unlock()
		return
	}
	skipped := b.skipped
	b.last, b.skipped = time.Now(), 0
	b.mu.Unlock()
	line := b.logger.With("why", err, "others_since_last_line", skipped)
	if errors.Is(err, errBusy) {
		line = line.With("held_by", holders())
	}
	line.Warn("answered 503")
}

// holders says who is inside the lock of the table now.
func holders() string {
	for _, lock := range inspect.Locks() {
		if lock.Name != lockName {
			continue
		}
		var who []string
		for _, call := range lock.Holders[:min(3, len(lock.Holders))] {
			by := "somebody"
			for _, label := range call.Labels {
				if label.Key == "by" {
					by = label.Value
				}
			}
			who = append(who, fmt.Sprintf("%q to %s for %s", by, call.Mode, inspect.Duration(call.Age)))
		}
		if more := len(lock.Holders) + lock.MoreHolders - len(who); more > 0 {
			who = append(who, fmt.Sprintf("%d more", more))
		}
		if who == nil {
			return "nobody any more"
		}
		return strings.Join(who, ", ")
	}
	return "nobody any more"
}
