package drawbridge_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// TestRaceDetector runs the scenarios of testdata/race under the race detector.
// A lock whose own steps make edges from reader to reader hides a write under a
// read hold; one that misses an edge reports a race where there is none.
func TestRaceDetector(t *testing.T) {
	if testing.Short() {
		t.Skip("builds with -race")
	}
	program := filepath.Join(t.TempDir(), "race")
	if out, err := exec.Command("go", "build", "-race", "-o", program, "./testdata/race").CombinedOutput(); err != nil {
		if text := string(out); strings.Contains(text, "-race requires cgo") || strings.Contains(text, "-race is not supported") {
			t.Skip("no race detector here:", text)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	var (
		readWriteWays = []string{"plain", "observed", "observed-all", "rlocker", "try", "context", "scoped", "guarded", "keyed", "keyed-scoped"}
		waitingWays   = slices.DeleteFunc(slices.Clone(readWriteWays), func(way string) bool { return way == "try" })
		allWays       = []string{"plain", "observed", "context", "scoped", "guarded", "keyed-scoped"}
		// The scenarios that use more of an RWMutex than reads and writes.
		rwWays = []string{"plain", "observed", "context"}
		one    = []string{"plain"}
	)
	for _, c := range []struct {
		scenario string
		ways     []string
		races    bool
	}{
		{"two-readers", readWriteWays, true},
		{"two-readers-that-waited", waitingWays, true},
		{"reader-and-upgradable", allWays, true},
		{"upgradable-and-reader", allWays, true},
		{"after-a-failed-try", rwWays, true},
		{"after-a-failed-wait", rwWays, true},
		{"reader-after-downgrade", rwWays, true},
		{"readers-that-a-cancel-let-in", rwWays, true},
		{"two-keys", one, true},

		{"writers", append(slices.Clone(readWriteWays), "mutex", "mutex-scoped"), false},
		{"writer-then-reader", readWriteWays, false},
		{"reader-then-writer", readWriteWays, false},
		{"writer-then-upgradable", append(slices.Clone(allWays), "try"), false},
		{"upgradables", append(slices.Clone(allWays), "try"), false},
		{"upgradable-then-writer", append(slices.Clone(allWays), "try"), false},
		{"reader-then-upgrade", allWays, false},
		{"reader-that-the-upgrade-waits-for", allWays, false},
		{"downgrade", rwWays, false},
		{"readers-that-a-downgrade-let-in", rwWays, false},
		{"cond", rwWays, false},
		{"observer-with-a-lock-of-its-own", append(slices.Clone(readWriteWays), "mutex"), false},
		{"context-with-a-lock-of-its-own", rwWays, false},
		{"contended", append(slices.Clone(readWriteWays), "mutex", "mutex-scoped"), false},
		{"contended-and-cancelled", rwWays, false},
		{"snapshot", one, false},
	} {
		for _, way := range c.ways {
			for _, policy := range everyPolicy {
				if strings.HasPrefix(way, "mutex") && policy != Balanced && policy != FIFO {
					continue
				}
				if c.scenario == "readers-that-a-cancel-let-in" && policy == PreferReaders {
					continue // there it keeps none out
				}
				if slices.Equal(c.ways, one) && policy != Balanced {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%v", c.scenario, way, policy), func(t *testing.T) {
					t.Parallel()
					raced(t, c.races, program, c.scenario, way, policy)
				})
			}
		}
	}
}

func raced(t *testing.T, want bool, program, scenario, way string, policy drawbridge.Policy) {
	const exitRace = 66 // of a process in which the detector has reported
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, scenario, way, policy.String())
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	text := string(out)
	status := 0
	if err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			t.Fatal(err)
		}
		status = exit.ExitCode()
	}
	switch {
	case want && (status != exitRace || !strings.Contains(text, "WARNING: DATA RACE") || !strings.Contains(text, "main.write()")):
		t.Errorf("the race was not reported; status %d\n%s", status, text)
	case !want && status != 0:
		t.Errorf("status %d\n%s", status, text)
	}
}
