package cluster_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/drawbridge-go/drawbridge/cluster"
)

func TestFenceRule(t *testing.T) {
	type op struct {
		mode  cluster.Mode
		token cluster.Token
		stale bool
	}
	const r, w = cluster.Read, cluster.Write
	for name, ops := range map[string][]op{
		"the late writer":                    {{w, 1, false}, {w, 2, false}, {w, 1, true}, {w, 2, false}},
		"the late writer under a reader":     {{w, 1, false}, {r, 1, false}, {w, 1, true}, {w, 2, false}},
		"a reader that saw more":             {{w, 1, false}, {r, 5, false}, {w, 4, true}, {w, 6, false}},
		"the late reader":                    {{w, 2, false}, {r, 1, true}, {r, 2, false}},
		"readers need no order":              {{r, 7, false}, {r, 5, false}, {r, 6, false}, {w, 7, true}},
		"no token":                           {{r, 0, true}, {w, 0, true}, {w, -1, true}},
		"a refused write leaves no trace":    {{r, 5, false}, {w, 5, true}, {w, 3, true}, {r, 4, false}},
		"a refused reader does not count":    {{w, 5, false}, {r, 4, true}, {w, 5, false}},
		"one's own reads are no reader's":    {{w, 5, false}, {w, 5, false}},
		"a reader after the reader's writer": {{w, 5, false}, {r, 5, false}, {r, 6, false}, {w, 6, true}, {w, 7, false}},
	} {
		var f cluster.Fence
		for i, o := range ops {
			ran := false
			run := func() error { ran = true; return nil }
			operate := f.Read
			if o.mode == w {
				operate = f.Write
			}
			err := operate(o.token, run)
			f.Restore(cluster.FenceState{}) // lowers nothing
			if got := errors.Is(err, cluster.ErrStale); got != o.stale || ran == o.stale {
				t.Errorf("%s: step %d, %v with %d: error %v, ran %v", name, i, o.mode, o.token, err, ran)
			}
		}
	}
}

// What was past its check when its holder was paused must not come after a later holder's operation.
func TestFenceRunsTheOperationUnderTheCheck(t *testing.T) {
	var f cluster.Fence
	var order []cluster.Token
	begun, resume := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		f.Write(1, func() error {
			close(begun)
			<-resume
			order = append(order, 1)
			return nil
		})
	})
	<-begun
	wg.Go(func() { f.Write(2, func() error { order = append(order, 2); return nil }) })
	close(resume)
	wg.Wait()
	if len(order) != 2 || order[0] != 1 {
		t.Errorf("order %v", order)
	}
}

func TestFenceIsSavedBeforeTheOperation(t *testing.T) {
	var saved []cluster.FenceState
	f := cluster.Fence{Save: func(s cluster.FenceState) error { saved = append(saved, s); return nil }}
	ok := func() error { return nil }
	f.Write(3, func() error {
		if f.State() != saved[0] {
			t.Errorf("the state within the operation is %+v", f.State())
		}
		return nil
	})
	f.Write(3, ok) // raises nothing
	f.Read(4, ok)
	if want := (cluster.FenceState{Write: 3, Read: 4}); len(saved) != 2 || saved[1] != want {
		t.Errorf("saved %+v, want the last to be %+v", saved, want)
	}

	broken := errors.New("disk full")
	after := cluster.Fence{Save: func(cluster.FenceState) error { return broken }}
	after.Restore(saved[1])
	ran := false
	if err := after.Write(5, func() error { ran = true; return nil }); !errors.Is(err, broken) || ran {
		t.Errorf("error %v, ran %v although the state was not saved", err, ran)
	}
	if err := after.Write(4, ok); !errors.Is(err, cluster.ErrStale) {
		t.Errorf("after a restart a late writer got %v", err)
	}
}
