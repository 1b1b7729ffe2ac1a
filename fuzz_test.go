package drawbridge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// FuzzPrograms plays random programs of calls and cancels against the lock and
// against a model of it. In a bubble, with everybody at rest between two steps,
// both have exactly one outcome.
func FuzzPrograms(f *testing.F) {
	for seed := range byte(8) {
		f.Add(seed, randomProgram(uint64(seed)))
	}
	f.Fuzz(func(t *testing.T, policy byte, program []byte) {
		runProgram(t, drawbridge.Policy(policy%4), policy&4 != 0, program)
	})
}

// TestRandomPrograms is a longer round of FuzzPrograms.
func TestRandomPrograms(t *testing.T) {
	programs := uint64(200)
	if testing.Short() {
		programs = 20
	}
	for _, p := range everyPolicy {
		t.Run(p.String(), func(t *testing.T) {
			for seed := range programs {
				runProgram(t, p, seed%2 == 0, randomProgram(seed))
			}
		})
	}
}

func randomProgram(seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 7))
	program := make([]byte, 120)
	for i := range program {
		program[i] = byte(random.Uint32())
	}
	return program
}

// runProgram makes a step of each byte. A step that nobody could take, such as
// the end of a hold that is not there, is left out.
func runProgram(t *testing.T, p drawbridge.Policy, striped bool, program []byte) {
	if len(program) > 400 {
		program = program[:400]
	}
	synctest.Test(t, func(t *testing.T) {
		rw := &drawbridge.RWMutex{Policy: p}
		if striped && p != PreferReaders {
			hot(rw)
		}
		s := &scene{T: t, lock: plainRWMutex(rw, true), policy: p}
		m := &model{policy: p}
		actors := map[string]*actor{}
		var log []string
		for i, b := range program {
			name := fmt.Sprintf("A%d", b>>4%6)
			a, known := actors[name]
			part := m.part(name)
			step := b & 15
			mode := allModes[step%3]
			switch {
			case step < 6 && !known:
				log = append(log, name+" asks to "+mode.String())
				actors[name] = s.asks(name, mode)
				m.ask(name, mode)
			case step == 6:
				time.Sleep(time.Duration(b>>4) * 200 * time.Microsecond)
			case step == 7:
				mode := allModes[int(b>>4)%3]
				release, ok := s.lock.try(mode)
				if ok {
					release()
				}
				if want := m.mayEnter(mode); ok != want {
					t.Fatalf("%v: after %s: Try to %s: %t, want %t", p, strings.Join(log, "; "), mode, ok, want)
				}
			case !known:
				continue
			case part.waiting:
				if step < 12 {
					continue
				}
				log = append(log, name+" gives up")
				a.givesUp()
				if m.giveUp(part); !part.holds {
					delete(actors, name)
				}
			case step < 10:
				log = append(log, name+" leaves")
				a.leaves()
				m.leave(part)
				delete(actors, name)
			case part.mode == Upgradable && a.ctx.Err() == nil:
				log = append(log, name+" upgrades")
				a.upgrades()
				m.upgrade(part)
			case part.mode == Write && step%2 == 0:
				log = append(log, name+" downgrades")
				a.downgrades()
				m.downgrade(part, Read)
			case part.mode == Write:
				log = append(log, name+" downgrades to upgradable")
				a.downgradesToUpgradable()
				m.downgrade(part, Upgradable)
			}
			s.forgetTheGone()
			if got, want := s.String(), m.String(); got != want {
				t.Fatalf("%v: step %d: after %s:\n got: %s\nwant: %s", p, i, strings.Join(log, "; "), got, want)
			}
			s.check()
		}
		s.end()
	})
}

// model is what a lock promises, for one step at a time and without windows:
// who is inside, who waits in order of arrival, and who keeps the door closed.
type model struct {
	policy drawbridge.Policy
	parts  []*part // in the order in which they came
	door   *part   // waits for those inside, and keeps the others out
}

// part is what the model knows of an actor.
type part struct {
	name    string
	mode    drawbridge.Mode // that it holds or wants
	holds   bool
	waiting bool // both: for an upgrade
}

func (m *model) part(name string) *part {
	for _, p := range m.parts {
		if p.name == name {
			return p
		}
	}
	return &part{}
}

// inside counts those who hold in mode.
func (m *model) inside(mode drawbridge.Mode) (n int) {
	for _, p := range m.parts {
		if p.holds && p.mode == mode {
			n++
		}
	}
	return n
}

func (m *model) first(mode drawbridge.Mode) *part {
	for _, p := range m.parts {
		if p.waiting && !p.holds && p.mode == mode {
			return p
		}
	}
	return nil
}

func (m *model) mayEnter(mode drawbridge.Mode) bool {
	if m.inside(Write) > 0 || m.door != nil {
		return false
	}
	switch mode {
	case Read:
		return true
	case Upgradable:
		return m.inside(Upgradable) == 0
	default:
		return m.inside(Read) == 0 && m.inside(Upgradable) == 0
	}
}

func (m *model) ask(name string, mode drawbridge.Mode) {
	p := &part{name: name, mode: mode}
	m.parts = append(m.parts, p)
	if m.mayEnter(mode) {
		p.holds = true
		return
	}
	p.waiting = true
	m.settle(false)
}

func (m *model) leave(p *part) {
	m.remove(p)
	m.settle(p.mode == Write)
}

func (m *model) giveUp(p *part) {
	if m.door == p {
		m.door = nil
	}
	p.waiting = false
	if !p.holds {
		m.remove(p)
	}
	m.settle(false)
}

func (m *model) upgrade(p *part) {
	p.waiting = true
	m.door = p // whoever had that role
	m.settle(false)
}

func (m *model) downgrade(p *part, to drawbridge.Mode) {
	p.mode = to
	m.settle(true)
}

func (m *model) remove(p *part) {
	m.parts = slices.DeleteFunc(m.parts, func(q *part) bool { return q == p })
}

// settle lets in who may enter now. left: a writer has left or is none any more.
func (m *model) settle(left bool) {
	if m.inside(Write) > 0 {
		m.door = nil
		return
	}
	if m.door == nil {
		writer := m.first(Write)
		switch {
		case writer == nil || m.policy == PreferReaders || m.policy == Balanced && left:
			m.admit(nil)
		case m.policy == FIFO:
			m.admit(writer)
		}
		if m.policy != PreferReaders || m.inside(Read)+m.inside(Upgradable) == 0 {
			m.door = writer
		}
	}
	d := m.door
	switch {
	case d == nil:
	case d.holds: // an upgrade
		if m.inside(Read) == 0 {
			d.mode, d.waiting, m.door = Write, false, nil
		}
	default:
		if m.policy == FIFO {
			m.admitUpgradable(d)
		}
		if m.inside(Read)+m.inside(Upgradable) == 0 {
			d.holds, d.waiting, m.door = true, false, nil
		}
	}
}

// admit lets in the readers that came before limit, and one upgradable reader.
func (m *model) admit(limit *part) {
	for _, p := range m.parts {
		if p == limit {
			break
		}
		if p.waiting && !p.holds && p.mode == Read {
			p.holds, p.waiting = true, false
		}
	}
	m.admitUpgradable(limit)
}

func (m *model) admitUpgradable(limit *part) {
	for _, p := range m.parts {
		if p == limit || m.inside(Upgradable) > 0 {
			return
		}
		if p.waiting && !p.holds && p.mode == Upgradable {
			p.holds, p.waiting = true, false
		}
	}
}

// String says it in the words of a scene.
func (m *model) String() string {
	if len(m.parts) == 0 {
		return "nobody"
	}
	var words []string
	for _, p := range m.parts {
		switch {
		case p.holds && p.waiting:
			words = append(words, p.name+" waits to upgrade")
		case p.waiting:
			words = append(words, p.name+" waits to "+p.mode.String())
		default:
			words = append(words, p.name+" "+doing[p.mode])
		}
	}
	return strings.Join(words, ", ")
}
