// Command bus shares the one connection to an instrument among goroutines:
// first without a lock, then with a [drawbridge.Mutex], then while somebody
// keeps it too long.
//
//	go run ./examples/bus
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	if err := story(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bus:", err)
		os.Exit(1)
	}
}

const callers, reads = 8, 25

func story(w io.Writer) error {
	in, err := powerOn(time.Millisecond)
	if err != nil {
		return err
	}
	defer in.powerOff()
	fmt.Fprintf(w, "An instrument answers on one connection. To read a register, write its address, then read.\n")
	fmt.Fprintf(w, "%d goroutines read %d registers each.\n\n", callers, reads)

	for _, with := range []struct {
		name string
		read func(*bus, byte) (uint16, error)
	}{
		{"without the Mutex", func(b *bus, address byte) (uint16, error) {
			return b.exchange(address)
		}},
		{"with the Mutex", func(b *bus, address byte) (uint16, error) {
			return b.register(context.Background(), address)
		}},
	} {
		b, err := dial(in.address())
		if err != nil {
			return err
		}
		wrong, err := share(b, with.read)
		b.conn.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-18s %3d of %d answers went to the wrong caller\n", with.name+":", wrong, callers*reads)
	}

	b, err := dial(in.address())
	if err != nil {
		return err
	}
	defer b.conn.Close()
	fmt.Fprintf(w, "\nNow somebody keeps the bus for a calibration that takes long.\n")
	b.mu.Lock()
	_, err = b.register(context.Background(), 7)
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("a busy bus was not reported: %w", err)
	}
	fmt.Fprintf(w, "the bus is busy:   %v\n", err)
	b.mu.Unlock()

	got, err := b.register(context.Background(), 7)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "and free again:    register 7 holds %#04x\n", got)
	return nil
}

// share lets many goroutines read over one bus and counts the answers that
// were meant for somebody else.
func share(b *bus, read func(*bus, byte) (uint16, error)) (wrong int, err error) {
	var all sync.WaitGroup
	var misdirected atomic.Int64
	failed := make([]error, callers)
	for i := range callers {
		all.Go(func() {
			for range reads {
				address := byte(i)
				got, err := read(b, address)
				if err != nil {
					failed[i] = err
					return
				}
				if got != value(address) {
					misdirected.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(misdirected.Load()), errors.Join(failed...)
}
