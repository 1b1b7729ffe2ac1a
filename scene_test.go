package drawbridge_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/drawbridge-go/drawbridge"
)

// scene is a lock in a synctest bubble and the actors that use it. Each step
// of a scene is taken only when everybody has come to rest after the one
// before, so a scene has one outcome, and it can be compared as a whole.
type scene struct {
	*testing.T
	lock   *subject
	policy drawbridge.Policy
	actors []*actor
}

// needs says which forms and policies a script is for. Its zero value is all.
type needs struct {
	policies []drawbridge.Policy
	modes    []drawbridge.Mode
	contexts bool // to cancel waits
	changes  bool // to downgrade
	plain    bool // no scopes: reads do not know who asks
}

// play runs script once for every form and policy that fits.
func play(t *testing.T, n needs, script func(*scene)) {
	played := false
	for _, f := range forms {
		if n.contexts && !f.contexts || (n.plain || n.changes) && f.scoped || n.changes && !f.has(Upgradable) || !f.has(n.modes...) {
			continue
		}
		for _, p := range f.policies {
			if n.policies != nil && !slices.Contains(n.policies, p) {
				continue
			}
			played = true
			t.Run(f.name+"/"+p.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &scene{T: t, lock: f.make(p), policy: p}
					script(s)
					s.end()
				})
			})
		}
	}
	if !played {
		t.Fatal("no form of lock fits this script")
	}
}

// actor is a goroutine with one hold, or on its way to one.
type actor struct {
	scene  *scene
	name   string
	ctx    context.Context // of everything it asks for
	cancel context.CancelFunc

	mu    sync.Mutex
	doing string
	gone  bool

	// To be read when the call has returned.
	err        error // of the call that asked for the lock
	upgradeErr error

	commands chan func(*grip)
}

// is says what the actor is doing from now on. A lock that lets an actor in
// makes no edge from the scene, which looked before, to the actor.
func (a *actor) is(doing string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doing, a.gone = doing, doing == ""
}

func (a *actor) look() (doing string, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.doing, a.gone
}

var doing = map[drawbridge.Mode]string{Read: "reads", Upgradable: "reads upgradably", Write: "writes"}

func (s *scene) reads(name string) *actor      { return s.asks(name, Read) }
func (s *scene) upgradably(name string) *actor { return s.asks(name, Upgradable) }
func (s *scene) writes(name string) *actor     { return s.asks(name, Write) }

// asks lets a new actor ask for the lock.
func (s *scene) asks(name string, m drawbridge.Mode) *actor {
	a := s.send(s.Context(), name, m)
	synctest.Wait()
	return a
}

// send is asks without coming to rest.
func (s *scene) send(ctx context.Context, name string, m drawbridge.Mode) *actor {
	a := &actor{scene: s, name: name, doing: "waits to " + m.String(), commands: make(chan func(*grip))}
	a.ctx, a.cancel = context.WithCancel(ctx)
	s.actors = append(s.actors, a)
	go func() {
		a.err = s.lock.hold(a.ctx, m, func(_ context.Context, g *grip) {
			a.is(doing[m])
			for command := range a.commands {
				command(g)
			}
		})
		a.is("")
	}()
	return a
}

// does makes the actor use its hold.
func (a *actor) does(command func(*grip)) {
	a.scene.Helper()
	a.mustHold()
	a.commands <- command
	synctest.Wait()
}

// leaves ends the actor's hold, in whatever mode it is.
func (a *actor) leaves() {
	a.scene.Helper()
	a.mustHold()
	close(a.commands)
	synctest.Wait()
}

// waits reports whether the actor is waiting for something.
func (a *actor) waits() bool {
	doing, _ := a.look()
	return strings.HasPrefix(doing, "waits")
}

func (a *actor) mustHold() {
	a.scene.Helper()
	if _, gone := a.look(); gone || a.waits() {
		a.scene.Fatalf("%s has no hold: %s", a.name, a.scene)
	}
}

func (a *actor) givesUp() {
	a.cancel()
	synctest.Wait()
}

// upgrades makes an upgradable hold a write hold, unless the actor gives up.
func (a *actor) upgrades() {
	a.scene.Helper()
	a.does(func(g *grip) {
		a.is("waits to upgrade")
		if a.upgradeErr = g.upgrade(a.ctx); a.upgradeErr == nil {
			a.is(doing[Write])
		} else {
			a.is(doing[Upgradable])
		}
	})
}

func (a *actor) downgrades() {
	a.does(func(g *grip) {
		g.downgrade()
		a.is(doing[Read])
	})
}

func (a *actor) downgradesToUpgradable() {
	a.does(func(g *grip) {
		g.downgradeToUpgradable()
		a.is(doing[Upgradable])
	})
}

// String says what everybody is doing, in the order in which they came. Those
// who left are not there; those who gave up are said to have, once.
func (s *scene) String() string {
	var parts []string
	for _, a := range s.actors {
		doing, gone := a.look()
		switch {
		case !gone:
			parts = append(parts, a.name+" "+doing)
		case a.err == nil:
		case errors.Is(a.err, context.Canceled):
			parts = append(parts, a.name+" gave up")
		default:
			parts = append(parts, a.name+" failed: "+a.err.Error())
		}
	}
	s.forgetTheGone()
	if parts == nil {
		return "nobody"
	}
	return strings.Join(parts, ", ")
}

func (s *scene) forgetTheGone() {
	s.actors = slices.DeleteFunc(s.actors, func(a *actor) bool {
		_, gone := a.look()
		return gone
	})
}

// want compares what everybody is doing, and what the lock says of it.
func (s *scene) want(want string) {
	s.Helper()
	if got := s.String(); got != want {
		s.Fatalf("%v:\n got: %s\nwant: %s", s.policy, got, want)
	}
	s.check()
}

// check compares the State of the lock with what the actors do.
func (s *scene) check() {
	s.Helper()
	var want drawbridge.State
	for _, a := range s.actors {
		doing, gone := a.look()
		if gone {
			continue
		}
		switch doing {
		case "reads":
			want.Readers++
		case "reads upgradably":
			want.Upgradable = true
		case "writes":
			if want.Writer {
				s.Fatalf("two writers inside: %s", s)
			}
			want.Writer = true
		case "waits to upgrade":
			want.Upgradable = true
			want.WaitingWriters++
		case "waits to write":
			want.WaitingWriters++
		default:
			want.WaitingReaders++
		}
	}
	if want.Writer && (want.Readers > 0 || want.Upgradable) {
		s.Fatalf("a writer is not alone inside: %s", s)
	}
	if got := s.lock.state(); got != want {
		s.Fatalf("State is %q, but %s", got, s)
	}
}

// end lets everybody leave. Nobody may be left waiting when nobody is inside,
// and nothing may be left of them in the lock.
func (s *scene) end() {
	s.Helper()
	for len(s.actors) > 0 {
		s.check()
		s.forgetTheGone()
		i := slices.IndexFunc(s.actors, func(a *actor) bool { return !a.waits() })
		if i < 0 {
			if len(s.actors) > 0 {
				s.Fatalf("everybody waits: %s", s)
			}
			break
		}
		s.actors[i].leaves()
	}
	if got := s.lock.state(); got != (drawbridge.State{}) {
		s.Fatalf("everybody left, but the lock says: %s", got)
	}
}
