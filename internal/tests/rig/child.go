package rig

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// A Child is this test binary as another process. It takes a lock and tells, line by line, what it does.
type Child struct {
	Lines chan string

	cmd   *exec.Cmd
	ended sync.WaitGroup
}

const (
	childRole   = "DRAWBRIDGE_TEST_CHILD" // "write" or "read"
	childServer = "DRAWBRIDGE_TEST_SERVER"
	childLock   = "DRAWBRIDGE_TEST_LOCK"
	childTTL    = "DRAWBRIDGE_TEST_TTL"
)

// Spawn starts a child that takes the lock for role, "write" or "read", on the server, which the function given to
// ChildMain understands. It is killed with the test.
func Spawn(t testing.TB, role, server, name string, ttl time.Duration) *Child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &Child{cmd: exec.Command(exe), Lines: make(chan string, 10000)}
	c.cmd.Env = append(os.Environ(), childRole+"="+role, childServer+"="+server, childLock+"="+name, childTTL+"="+ttl.String())
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.ended.Go(func() {
		defer close(c.Lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			c.Lines <- in.Text()
		}
	})
	t.Cleanup(func() {
		c.Signal(syscall.SIGKILL)
		c.ended.Wait()
		c.cmd.Wait()
	})
	return c
}

// Signal sends a signal.
func (c *Child) Signal(s syscall.Signal) { c.cmd.Process.Signal(s) }

// Expect reads lines until one begins with what, and returns the number after it.
func (c *Child) Expect(t testing.TB, what string) int64 {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-c.Lines:
			if !ok {
				t.Fatalf("the child ended without saying %q", what)
			}
			if rest, ok := strings.CutPrefix(line, what); ok {
				n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
				return n
			}
		case <-limit:
			t.Fatalf("the child never said %q", what)
		}
	}
}

// Drain forgets what was said up to now.
func (c *Child) Drain() {
	for {
		select {
		case <-c.Lines:
		default:
			return
		}
	}
}

// ChildMain, in a process that is a child, does the child's part and reports true. A holder says, again and again:
// "checked" after Held said nil, then, after a while in which it can be stopped, "write TOKEN", an operation that was
// past its check. It ends with "lost" when it knows.
func ChildMain(open func(server string) (cluster.Engine, error)) bool {
	role := os.Getenv(childRole)
	if role == "" {
		return false
	}
	if err := childMain(role, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func childMain(role string, open func(server string) (cluster.Engine, error)) error {
	ttl, err := time.ParseDuration(os.Getenv(childTTL))
	if err != nil {
		return err
	}
	engine, err := open(os.Getenv(childServer))
	if err != nil {
		return err
	}
	locks := cluster.New(engine, cluster.Options{TTL: ttl, Label: "child", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	fmt.Println("ready")
	take := locks.Lock
	if role == "read" {
		take = locks.RLock
	}
	hold, err := take(context.Background(), os.Getenv(childLock))
	if err != nil {
		return err
	}
	fmt.Println("held", hold.Token())
	for hold.Held() == nil {
		fmt.Println("checked")
		time.Sleep(50 * time.Millisecond)
		fmt.Println("write", hold.Token())
	}
	<-hold.Context().Done()
	fmt.Println("lost")
	return nil
}
