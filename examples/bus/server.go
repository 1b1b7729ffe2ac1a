package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// An instrument has registers and one connection. A request is two bytes, a
// verb and an address; an answer is the register's value in two bytes.
//
//	'w' address   select a register, no answer
//	'r' 0         read the register that is selected
//
// That takes two requests, as on many real buses. Between the two, the
// instrument answers for whatever address it was given last.
type instrument struct {
	listener net.Listener
	settle   time.Duration // what the hardware needs to select a register
	clients  sync.WaitGroup
}

const (
	verbWrite = 'w'
	verbRead  = 'r'
)

// value is what a register holds. It names its register, so that a wrong
// answer is recognised.
func value(address byte) uint16 { return uint16(address)<<8 | uint16(^address) }

// powerOn starts an instrument on a port of this machine.
func powerOn(settle time.Duration) (*instrument, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	in := &instrument{listener: listener, settle: settle}
	in.clients.Go(in.accept)
	return in, nil
}

func (in *instrument) address() string { return in.listener.Addr().String() }

// powerOff stops the instrument. Close the connections to it first: it serves
// each until its end.
func (in *instrument) powerOff() {
	in.listener.Close()
	in.clients.Wait()
}

func (in *instrument) accept() {
	for {
		conn, err := in.listener.Accept()
		if err != nil {
			return // powered off
		}
		in.clients.Go(func() {
			defer conn.Close()
			if err := in.serve(conn); !errors.Is(err, io.EOF) {
				fmt.Println("instrument:", err)
			}
		})
	}
}

// serve answers until the connection ends, and returns why it ended.
func (in *instrument) serve(conn net.Conn) error {
	var request [2]byte
	var selected byte
	for {
		if _, err := io.ReadFull(conn, request[:]); err != nil {
			return err
		}
		switch request[0] {
		case verbWrite:
			time.Sleep(in.settle)
			selected = request[1]
		case verbRead:
			answer := binary.BigEndian.AppendUint16(nil, value(selected))
			if _, err := conn.Write(answer); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown verb %q", request[0])
		}
	}
}
