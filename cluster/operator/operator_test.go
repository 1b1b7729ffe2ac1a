package operator_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/mem"
	"github.com/drawbridge-go/drawbridge/cluster/operator"
)

// scene is a lock that one process holds and another waits for.
func scene(t *testing.T) (e *mem.Engine, hold *cluster.Hold) {
	t.Helper()
	e = mem.New()
	a := cluster.New(e, cluster.Options{Label: "report\x1b[31m"})
	b := cluster.New(e.Peer(), cluster.Options{})
	t.Cleanup(func() { b.Close(); a.Close() })
	hold, err := a.Lock(t.Context(), "ledger\n2")
	if err != nil {
		t.Fatal(err)
	}
	go b.RLock(t.Context(), "ledger\n2")
	synctest.Wait()
	time.Sleep(90 * time.Second)
	return e, hold
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	got = strings.ReplaceAll(got, strconv.Quote(host), `"host"`)
	got = strings.ReplaceAll(got, strconv.Itoa(os.Getpid()), "PID")
	if squeeze(got) != squeeze(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// squeeze takes the alignment out, which depends on the host's name.
func squeeze(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

func TestPagesQuoteWhatOthersWrote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := scene(t)
		var list, show strings.Builder
		if err := operator.List(t.Context(), &list, e, "led"); err != nil {
			t.Fatal(err)
		}
		expect(t, list.String(), `NAME HELD TO HOLDERS WAITING LONGEST FIRST HOLDER
			"ledger\n2" write 1 1 1m30s "host" pid PID "report\x1b[31m"`)
		if err := operator.Show(t.Context(), &show, e, "ledger\n2"); err != nil {
			t.Fatal(err)
		}
		expect(t, show.String(), `MODE TOKEN CAME HOST PID LABEL
			holds write 1 1m30s ago "host" PID "report\x1b[31m"
			waits 1 read 2 1m30s ago "host" PID ""`)
	})
}

func TestReleaseAsksFirstAndEndsOneHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, hold := scene(t)
		var out strings.Builder
		if err := operator.Release(t.Context(), &out, e, "ledger\n2", hold.Token(), false); !errors.Is(err, operator.ErrNotConfirmed) {
			t.Errorf("without yes: %v", err)
		}
		if !strings.Contains(out.String(), "may still be working") || hold.Held() != nil {
			t.Errorf("wrote %q, and the hold's state is %v", out.String(), hold.Held())
		}
		if err := operator.Release(t.Context(), &out, e, "ledger\n2", hold.Token()+9, true); !errors.Is(err, cluster.ErrLost) {
			t.Errorf("a token that nobody has: %v", err)
		}
		if err := operator.Release(t.Context(), &out, e, "ledger\n2", hold.Token(), true); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := context.Cause(hold.Context()); !errors.Is(err, cluster.ErrLost) {
			t.Errorf("the holder was told %v", err)
		}
	})
}

func TestNothingThere(t *testing.T) {
	e := mem.New()
	var out strings.Builder
	if err := errors.Join(
		operator.List(t.Context(), &out, e, ""),
		operator.Show(t.Context(), &out, e, "x"),
		operator.Prune(t.Context(), &out, e),
	); err != nil {
		t.Fatal(err)
	}
	expect(t, out.String(), "no lock is held or waited for\n\"x\" is free\nnothing to remove")
	if err := operator.Show(t.Context(), &out, e, ""); !errors.Is(err, cluster.ErrName) {
		t.Errorf("an empty name: %v", err)
	}
}
