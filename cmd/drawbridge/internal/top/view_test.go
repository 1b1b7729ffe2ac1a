package top

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/drawbridge-go/drawbridge/inspect"
)

func locks(names ...string) *inspect.Report {
	r := &inspect.Report{Version: inspect.Version, Watched: len(names), Program: "service"}
	for i, n := range names {
		r.Locks = append(r.Locks, inspect.Lock{ID: uint64(i + 1), Name: n, Kind: "RWMutex", Words: "free", WaitsBySecond: make([]uint32, 60)})
	}
	return r
}

func started(t *testing.T, width, height int) *model {
	t.Helper()
	source, err := Open("localhost:6060")
	if err != nil {
		t.Fatal(err)
	}
	m := &model{source: source, ctx: t.Context(), sort: byWaiting}
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m.Init()
	return m
}

func press(m *model, keys ...rune) {
	for _, k := range keys {
		m.Update(tea.KeyPressMsg{Code: k, Text: string(k)})
	}
}

func shown(m *model) []string {
	return strings.Split(ansi.Strip(m.View().Content), "\n")
}

// order returns the names of the table in their order.
func names(m *model) (l []string) {
	for _, lock := range m.report.Locks {
		l = append(l, lock.Name)
	}
	return l
}

// TestOneLockScrolls: a lock with more holders than the window has lines would
// hide who waits.
func TestOneLockScrolls(t *testing.T) {
	m := started(t, 100, 20)
	r := locks("a")
	m.Update(answer{look: m.looks, report: r})
	m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	l := r.Locks[0]
	for range 60 {
		l.Holders = append(l.Holders, inspect.Call{Mode: "read"})
	}
	l.Waiters = []inspect.Call{{Mode: "write", Key: "the last line"}}
	m.Update(answer{look: m.looks, one: true, report: &inspect.Report{Locks: []inspect.Lock{l}}})
	has := func() bool { return strings.Contains(strings.Join(shown(m), "\n"), "the last line") }
	if has() {
		t.Fatal("the window has room for everything; the test shows nothing")
	}
	press(m, 'G')
	if s := shown(m); !has() || !strings.HasPrefix(s[0], "a ") || len(s) != 20 {
		t.Errorf("at the end the window shows\n%s", strings.Join(s, "\n"))
	}
	press(m, 'k')
	if has() {
		t.Error("one line up, the last line is still there")
	}
}

// TestNarrowWindowShowsTimes: what is beside one another in a wide window is
// below one another in a narrow one, and not cut off.
func TestNarrowWindowShowsTimes(t *testing.T) {
	for _, width := range []int{60, 200} {
		m := started(t, width, 30)
		r := locks("a")
		m.Update(answer{look: m.looks, report: r})
		m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		l := r.Locks[0]
		l.Write.Holds, l.Write.Wait, l.Write.Hold = 1, new(inspect.Histogram), new(inspect.Histogram)
		l.Write.Wait.Add(212 * time.Millisecond)
		l.Write.Hold.Add(3 * time.Second)
		m.Update(answer{look: m.looks, one: true, report: &inspect.Report{Locks: []inspect.Lock{l}}})
		s := strings.Join(shown(m), "\n")
		if !strings.Contains(s, "max 212 ms") || !strings.Contains(s, "max 3.00 s") {
			t.Errorf("%d wide:\n%s", width, s)
		}
	}
}

func TestNoLocks(t *testing.T) {
	m := started(t, 100, 20)
	m.Update(answer{look: m.looks, report: locks()})
	if s := strings.Join(shown(m), "\n"); !strings.Contains(s, "No lock is watched") {
		t.Errorf("without locks the window shows\n%s", s)
	}
}

func TestCursorStaysOnItsLockWhileTheOrderChanges(t *testing.T) {
	m := started(t, 100, 20)
	r := locks("a", "b", "c")
	m.Update(answer{look: m.looks, report: r})
	press(m, 'j')
	if m.at != 2 {
		t.Fatalf("one down is lock %d", m.at)
	}
	r = locks("a", "b", "c")
	r.Locks[2].LongestWait = time.Second
	r.Locks[1].LongestWait = time.Millisecond
	m.Update(answer{look: m.looks, report: r})
	if got := strings.Join(names(m), " "); got != "c b a" || m.at != 2 || m.cursor() != 1 {
		t.Errorf("order %s, cursor on lock %d in row %d", got, m.at, m.cursor())
	}
	press(m, 'n')
	if got := strings.Join(names(m), " "); got != "a b c" || m.at != 2 {
		t.Errorf("by name: %s, cursor on lock %d", got, m.at)
	}
}

func TestAnswerToAnOlderLookIsNotShown(t *testing.T) {
	m := started(t, 100, 20)
	old := m.looks
	m.Update(answer{look: old, report: locks("a")})
	m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	m.Update(answer{look: old, report: locks("not asked for any more")})
	if m.lock != nil || !m.one || strings.Contains(strings.Join(shown(m), "\n"), "any more") {
		t.Errorf("shown: %q", shown(m))
	}
}

func TestLostProcessIsSaidAndTheLastStateStays(t *testing.T) {
	m := started(t, 100, 20)
	m.Update(answer{look: m.looks, report: locks("routes")})
	m.Update(answer{look: m.looks, err: errors.New("refused\x1b[2J")})
	text := strings.Join(shown(m), "\n")
	if !strings.Contains(text, "this is old") || !strings.Contains(text, "routes") || strings.Contains(text, "\x1b") {
		t.Errorf("shown: %q", text)
	}
}

func TestPausedViewStands(t *testing.T) {
	m := started(t, 100, 20)
	m.Update(answer{look: m.looks, report: locks("before")})
	press(m, 'p')
	m.Update(answer{look: m.looks, report: locks("after")})
	if names(m)[0] != "before" {
		t.Error("went on while paused")
	}
}

// TestEveryWidthFits: no line is wider than the terminal and the table is never
// higher, whatever the names are.
func TestEveryWidthFits(t *testing.T) {
	r := locks(strings.Repeat("wide 宽 ", 30), "b", "", "d", "e", "f", "g", "h", "i")
	for i := range r.Locks {
		r.Locks[i].Words = "3 readers inside, 1 writer waiting 212 ms, door closed"
	}
	for width := 20; width <= 220; width += 13 {
		for _, height := range []int{6, 10, 40} {
			m := started(t, width, height)
			m.Update(answer{look: m.looks, report: r})
			press(m, 'G')
			lines := shown(m)
			if len(lines) != height {
				t.Errorf("%d×%d: %d lines", width, height, len(lines))
			}
			for _, l := range lines {
				if lipgloss.Width(l) > width {
					t.Errorf("%d×%d: a line of %d: %q", width, height, lipgloss.Width(l), l)
				}
			}
		}
	}
}
