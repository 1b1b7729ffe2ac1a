package main

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// bus is the one connection to an instrument. Its zero Mutex is ready.
type bus struct {
	mu   drawbridge.Mutex
	conn net.Conn
}

func dial(address string) (*bus, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &bus{conn: conn}, nil
}

// register reads a register. It waits its turn for at most a second: a bus
// that is stuck is an error here, not a pile of waiting goroutines.
func (b *bus) register(ctx context.Context, address byte) (uint16, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := b.mu.LockContext(ctx); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	return b.exchange(address)
}

// exchange is both requests and the answer. Two of them at once on one
// connection select each other's registers and take each other's answers.
func (b *bus) exchange(address byte) (uint16, error) {
	if _, err := b.conn.Write([]byte{verbWrite, address}); err != nil {
		return 0, err
	}
	if _, err := b.conn.Write([]byte{verbRead, 0}); err != nil {
		return 0, err
	}
	var answer [2]byte
	if _, err := io.ReadFull(b.conn, answer[:]); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint16(answer[:]), nil
}
