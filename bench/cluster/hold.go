package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// hold starts this program again as a process that holds a lock, and returns what kills it.
func hold(ctx context.Context, url, name string, ttl time.Duration) (kill func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	holder := exec.CommandContext(ctx, self, "hold", "--name", name, "--ttl", ttl.String())
	holder.Env = append(os.Environ(), "DRAWBRIDGE_BENCH_HOLD="+url) // not an argument, which others can list
	holder.Stderr = os.Stderr
	out, err := holder.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := holder.Start(); err != nil {
		return nil, err
	}
	kill = func() {
		holder.Process.Kill()
		holder.Wait()
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		kill()
		return nil, errors.New("the process that was to hold the lock ended")
	}
	return kill, nil
}

// holdCommand is that process.
type holdCommand struct {
	Engine string        `env:"DRAWBRIDGE_BENCH_HOLD" required:""`
	Name   string        `required:""`
	TTL    time.Duration `name:"ttl" required:""`
}

func (c holdCommand) Run(ctx context.Context) error {
	s, err := attach(ctx, c.Engine)
	if err != nil {
		return err
	}
	e, err := s.connect(ctx, new(sent))
	if err != nil {
		return err
	}
	defer e.Close()
	h, err := locker(e, c.TTL).Lock(ctx, c.Name)
	if err != nil {
		return err
	}
	fmt.Println("held")
	<-h.Context().Done()
	return context.Cause(h.Context())
}
