package etcd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/internal/tests/etcdserver"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

const memberVariable = "DRAWBRIDGE_TEST_MEMBER"

// memberMain, in a process that is to be a member of a cluster, is that and reports true.
func memberMain() bool {
	order := os.Getenv(memberVariable)
	if order == "" {
		return false
	}
	var m etcdserver.Member
	err := json.Unmarshal([]byte(order), &m)
	if err == nil {
		if e, failed := m.Start(); failed != nil {
			err = failed
		} else {
			defer e.Close()
			fmt.Println("ready")
			io.Copy(io.Discard, os.Stdin) // it does not outlive the test
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// memberProcess is a member in a process of its own.
type memberProcess struct {
	etcdserver.Member
	cmd   *exec.Cmd
	ready chan error
}

// run starts the process. It is killed with the test.
func run(t testing.TB, m etcdserver.Member) *memberProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	order, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	p := &memberProcess{Member: m, cmd: exec.Command(exe), ready: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), memberVariable+"="+string(order))
	p.cmd.Stderr = os.Stderr
	if _, err := p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := bufio.NewReader(out).ReadString('\n')
		p.ready <- err
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process with SIGKILL: nothing is said to anybody.
func (p *memberProcess) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func (p *memberProcess) await(t testing.TB) {
	t.Helper()
	select {
	case err := <-p.ready:
		if err != nil {
			t.Fatalf("%s ended: %v", p.Name, err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s is not ready", p.Name)
	}
}

// The process of the leader is killed, three times over, with all members in their turn restarted: who holds keeps the
// lock, who waits is granted it, and a holder that dies at the same moment is replaced when its lease, which starts anew
// with the new leader, is over.
func TestMemberProcessIsKilled(t *testing.T) {
	plan, err := etcdserver.Plan(3, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	members := make([]*memberProcess, len(plan))
	var endpoints []string
	for i, m := range plan {
		members[i] = run(t, m)
		endpoints = append(endpoints, m.Endpoint())
	}
	for _, m := range members {
		m.await(t)
	}
	const ttl = 4 * time.Second
	admin := dial(t, endpoints...)
	a, b := rig.NewLocker(t, on(t, endpoints...), ttl), rig.NewLocker(t, on(t, endpoints...), ttl)
	for round := range 3 {
		kept, waited, died := fmt.Sprintf("kept/%d", round), fmt.Sprintf("waited/%d", round), fmt.Sprintf("died/%d", round)
		keeper := rig.Locked(t, a, kept)
		holder := rig.Locked(t, a, waited)
		waiter := make(chan *cluster.Hold, 1)
		go func() { waiter <- rig.Locked(t, b, waited) }()
		rig.Waiters(t, a, waited, 1)
		c := rig.Spawn(t, "write", strings.Join(endpoints, ","), died, ttl)
		token := c.Expect(t, "held")

		leader := leaderOf(t, endpoints)
		members[leader].kill()
		c.Signal(syscall.SIGKILL)
		killed := time.Now()
		rig.Unlocked(t, holder)
		rig.Unlocked(t, <-waiter)
		rig.AtMost(t, "a hand-over", killed, ttl)
		next := rig.Locked(t, b, died)
		// One TTL from the election, and the half second in which etcd looks for leases that are over.
		rig.AtMost(t, "takeover", killed, ttl+ttl/2+takeover)
		if int64(next.Token()) <= token {
			t.Errorf("token %d after %d", next.Token(), token)
		}
		rig.Unlocked(t, next)
		if err := keeper.Held(); err != nil {
			t.Errorf("the loss of the leader cost a hold: %v", err)
		}
		rig.Unlocked(t, keeper)

		members[leader] = run(t, plan[leader])
		members[leader].await(t)
		if _, err := admin.Put(rig.Within(t, time.Minute), prefix+"mark", ""); err != nil {
			t.Fatal(err)
		}
	}
}

// leaderOf asks each member until one says that it leads.
func leaderOf(t testing.TB, endpoints []string) int {
	t.Helper()
	ctx := rig.Within(t, 30*time.Second)
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		for i, endpoint := range endpoints {
			c := dial(t, endpoint)
			st, err := c.Status(ctx, endpoint)
			c.Close()
			if err == nil && st.Leader == st.Header.MemberId {
				return i
			}
		}
	}
	t.Fatal("no leader")
	return -1
}
