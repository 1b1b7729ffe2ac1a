package etcd

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
)

// A child is this test binary as another process. It takes a lock and tells, line by line, what it does.
type child struct {
	cmd   *exec.Cmd
	lines chan string
	ended sync.WaitGroup
}

const (
	childRole      = "DRAWBRIDGE_TEST_CHILD" // "write" or "read" for a holder, and what it is told to do
	childEndpoints = "DRAWBRIDGE_TEST_ENDPOINTS"
	childLock      = "DRAWBRIDGE_TEST_LOCK"
	childTTL       = "DRAWBRIDGE_TEST_TTL"
)

func spawn(t testing.TB, role, endpoint, name string, ttl time.Duration) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(exe), lines: make(chan string, 10000)}
	c.cmd.Env = append(os.Environ(), childRole+"="+role, childEndpoints+"="+endpoint, childLock+"="+name, childTTL+"="+ttl.String())
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.ended.Go(func() {
		defer close(c.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			c.lines <- in.Text()
		}
	})
	t.Cleanup(func() {
		c.signal(syscall.SIGKILL)
		c.ended.Wait()
		c.cmd.Wait()
	})
	return c
}

func (c *child) signal(s syscall.Signal) { c.cmd.Process.Signal(s) }

// expect reads lines until one begins with what, and returns the number after it.
func (c *child) expect(t testing.TB, what string) int64 {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-c.lines:
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

// childMain is the child's side. A holder says, again and again: "checked" after Held said nil, then, after a while in
// which it can be stopped, "write TOKEN", an operation that was past its check. It ends with "lost" when it knows.
func childMain(role string) {
	ctx := context.Background()
	ttl, err := time.ParseDuration(os.Getenv(childTTL))
	check(err)
	engine, err := etcd.Dial(clientv3.Config{Endpoints: []string{os.Getenv(childEndpoints)}}, etcd.Options{Prefix: prefix})
	check(err)
	locks := cluster.New(engine, cluster.Options{TTL: ttl, Label: "child", Logger: quiet()})
	fmt.Println("ready")
	take := locks.Lock
	if strings.HasPrefix(role, "read") {
		take = locks.RLock
	}
	hold, err := take(ctx, os.Getenv(childLock))
	check(err)
	fmt.Println("held", hold.Token())
	for hold.Held() == nil {
		fmt.Println("checked")
		time.Sleep(50 * time.Millisecond)
		fmt.Println("write", hold.Token())
	}
	<-hold.Context().Done()
	fmt.Println("lost")
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
