package top

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/drawbridge-go/drawbridge/inspect"
)

const every = time.Second // between two looks

// Run shows the locks of source until the user leaves.
func Run(ctx context.Context, source *Source, options ...tea.ProgramOption) error {
	m := &model{source: source, ctx: ctx, width: 100, height: 30, sort: byWaiting}
	_, err := tea.NewProgram(m, append(options, tea.WithContext(ctx))...).Run()
	return err
}

type model struct {
	source        *Source
	ctx           context.Context
	width, height int

	report *inspect.Report // of all locks, in the order in which it is shown
	err    error           // of the last look
	paused bool
	sort   order
	at     uint64 // the lock with the cursor, by ID
	one    bool   // the lock with the cursor is shown alone
	lock   *inspect.Lock
	scroll int // lines of it above the window
	looks  int // looks so far; an answer to an older one is not used
}

type order struct {
	key, name string
	less      func(a, b *inspect.Lock) int
}

var (
	byWaiting = order{"w", "waiting", func(a, b *inspect.Lock) int {
		return cmp.Or(cmp.Compare(b.LongestWait, a.LongestWait), cmp.Compare(recent(b), recent(a)), cmp.Compare(holds(b), holds(a)))
	}}
	orders = []order{byWaiting,
		{"h", "held longest", func(a, b *inspect.Lock) int { return cmp.Compare(b.LongestHold, a.LongestHold) }},
		{"u", "most used", func(a, b *inspect.Lock) int { return cmp.Compare(holds(b), holds(a)) }},
		{"n", "name", func(a, b *inspect.Lock) int { return cmp.Compare(a.Name, b.Name) }},
	}
)

func holds(l *inspect.Lock) uint64 { return l.Read.Holds + l.Upgradable.Holds + l.Write.Holds }

func recent(l *inspect.Lock) (n uint64) {
	for _, w := range l.WaitsBySecond {
		n += uint64(w)
	}
	return n
}

// answer is what a look has brought.
type answer struct {
	look   int
	report *inspect.Report
	one    bool
	err    error
}

type tick struct{ look int }

func (m *model) Init() tea.Cmd { return m.look() }

// look asks the process for what is shown.
func (m *model) look() tea.Cmd {
	m.looks++
	look, one, id := m.looks, m.one, m.at
	return func() tea.Msg {
		a := answer{look: look, one: one}
		if one {
			a.report, a.err = m.source.Lock(m.ctx, id)
		} else {
			a.report, a.err = m.source.Locks(m.ctx)
		}
		return a
	}
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 20), max(msg.Height, 6)
	case answer:
		if msg.look != m.looks {
			return m, nil
		}
		m.take(msg)
		return m, tea.Tick(every, func(time.Time) tea.Msg { return tick{msg.look} })
	case tick:
		if msg.look == m.looks {
			return m, m.look()
		}
	case tea.KeyPressMsg:
		return m, m.press(msg.String())
	}
	return m, nil
}

func (m *model) take(a answer) {
	m.err = a.err
	if a.err != nil || m.paused {
		return
	}
	if a.one {
		m.lock = &a.report.Locks[0]
		return
	}
	m.report = a.report
	m.arrange()
}

func (m *model) arrange() {
	if m.report == nil {
		return
	}
	slices.SortStableFunc(m.report.Locks, func(a, b inspect.Lock) int { return m.sort.less(&a, &b) })
	if m.cursor() < 0 && len(m.report.Locks) > 0 {
		m.at = m.report.Locks[0].ID
	}
}

// cursor is where the lock with the cursor is, or -1.
func (m *model) cursor() int {
	if m.report == nil {
		return -1
	}
	return slices.IndexFunc(m.report.Locks, func(l inspect.Lock) bool { return l.ID == m.at })
}

func (m *model) press(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "p", "space":
		m.paused = !m.paused
	case "enter":
		if !m.one && m.cursor() >= 0 {
			m.one, m.lock, m.scroll = true, nil, 0
			return m.look()
		}
	case "esc", "backspace", "left":
		if m.one {
			m.one = false
			return m.look()
		}
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup":
		m.move(-m.rows())
	case "pgdown":
		m.move(m.rows())
	case "home", "g":
		m.move(-maxLocks)
	case "end", "G":
		m.move(maxLocks)
	default:
		for _, o := range orders {
			if key == o.key && !m.one {
				m.sort = o
				m.arrange()
			}
		}
	}
	return nil
}

func (m *model) move(n int) {
	if m.one {
		m.scroll = max(m.scroll+n, 0) // View knows where it ends
		return
	}
	if m.report == nil || len(m.report.Locks) == 0 {
		return
	}
	i := min(max(m.cursor()+n, 0), len(m.report.Locks)-1)
	m.at = m.report.Locks[i].ID
}

// rows is how many locks fit below the head and above the foot.
func (m *model) rows() int { return max(m.height-5, 1) }

var (
	bold    = lipgloss.NewStyle().Bold(true)
	faint   = lipgloss.NewStyle().Faint(true)
	chosen  = lipgloss.NewStyle().Reverse(true)
	waiting = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	bad     = lipgloss.NewStyle().Foreground(lipgloss.Red)
)

func (m *model) View() tea.View {
	var lines []string
	switch {
	case m.one:
		lines = m.lockLines()
	default:
		lines = m.tableLines()
	}
	if m.one {
		lines = m.window(lines)
	}
	body := lines[:min(len(lines), m.height-1)]
	for len(body) < m.height-1 {
		body = append(body, "")
	}
	for i, l := range body {
		body[i] = ansi.Truncate(l, m.width, "…")
	}
	v := tea.NewView(strings.Join(append(body, ansi.Truncate(m.foot(), m.width, "…")), "\n"))
	v.AltScreen = true
	v.WindowTitle = "drawbridge top"
	return v
}

// window cuts out of the lines of one lock, whose first two stay, those that the
// user has moved to.
func (m *model) window(lines []string) []string {
	const head = 2
	m.scroll = min(m.scroll, max(len(lines)-(m.height-1), 0))
	return slices.Concat(lines[:min(head, len(lines))], lines[min(head+m.scroll, len(lines)):])
}

func (m *model) foot() string {
	keys := "↑↓ choose  Enter one lock  sort: w waiting  h held  u used  n name  p pause  q leave"
	if m.one {
		keys = "Esc all locks  ↑↓ move  p pause  q leave"
	}
	return faint.Render(keys)
}

// head is the first line: where this comes from and how old it is.
func (m *model) head(title string) []string {
	state := ""
	switch {
	case m.err != nil:
		state = bad.Render("  ▲ no answer, this is old")
	case m.paused:
		state = "  ❚❚ paused"
	}
	lines := []string{bold.Render(title) + faint.Render("  "+m.source.String()) + state}
	if m.err != nil {
		message := m.err.Error()
		text(&message)
		lines = append(lines, bad.Render(message))
	}
	return append(lines, "")
}

func (m *model) tableLines() []string {
	if m.report == nil {
		if m.err != nil {
			return m.head("Locks")
		}
		return []string{bold.Render("Locks") + faint.Render("  asking "+m.source.String()+" …")}
	}
	r := m.report
	title := fmt.Sprintf("%d locks of %s", r.Watched, r.Program)
	if r.LeftOut > 0 {
		title += fmt.Sprintf(", the busiest %d", len(r.Locks))
	}
	lines := m.head(title + ", by " + m.sort.name)
	if r.Watched == 0 {
		return append(lines, "No lock is watched. The program makes one known by inspect.Watch;",
			"locks of a cluster engine are not among them, \"drawbridge locks\" lists those.")
	}
	columns := columnsFor(m.width, r.Locks)
	lines = append(lines, bold.Render(columns.row(func(c column) string { return c.name })))
	rows := max(m.height-len(lines)-1, 1)
	cursor := m.cursor()
	first := min(max(cursor-rows/2, 0), max(len(r.Locks)-rows, 0))
	for i := first; i < min(first+rows, len(r.Locks)); i++ {
		l := &r.Locks[i]
		line := columns.row(func(c column) string { return c.of(l) })
		switch {
		case i == cursor:
			line = chosen.Render(line)
		case l.LongestWait > 0:
			line = waiting.Render(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// column is a column of the table. Numbers stand to the right.
type column struct {
	name   string
	width  int
	number bool
	of     func(*inspect.Lock) string
}

type columns []column

func columnsFor(width int, locks []inspect.Lock) columns {
	p99 := func(h inspect.Histogram) string {
		if h.Count == 0 {
			return "-"
		}
		return inspect.Duration(h.Quantile(.99))
	}
	name := 4
	for i := range locks {
		name = max(name, lipgloss.Width(locks[i].Name))
	}
	c := columns{
		{"NAME", min(name, max(width/4, 10)), false, func(l *inspect.Lock) string { return l.Name }},
		{"STATE", 0, false, func(l *inspect.Lock) string { return l.Words }},
	}
	more := []column{
		{"WAITS/MIN", 9, true, func(l *inspect.Lock) string { return fmt.Sprint(recent(l)) }},
		{"WAIT P99", 9, true, func(l *inspect.Lock) string { w, _ := l.Total(); return p99(w) }},
		{"HOLD P99", 9, true, func(l *inspect.Lock) string { _, h := l.Total(); return p99(h) }},
		{"HOLDS", 10, true, func(l *inspect.Lock) string { return fmt.Sprint(holds(l)) }},
		{"GAVE UP", 7, true, func(l *inspect.Lock) string {
			return fmt.Sprint(l.GaveUp.Canceled + l.GaveUp.Deadline + l.GaveUp.Deadlock)
		}},
		{"LAST 20 S", 20, false, func(l *inspect.Lock) string { return spark(l.WaitsBySecond, 20) }},
	}
	left := width - c[0].width - 2 - 46 // what the state needs at least
	for _, m := range more {
		if left -= m.width + 2; left < 0 {
			break
		}
		c = append(c, m)
	}
	c[1].width = width - 2*(len(c)-1)
	for i, o := range c {
		if i != 1 {
			c[1].width -= o.width
		}
	}
	c[1].width = max(c[1].width, 5)
	return c
}

func (c columns) row(of func(column) string) string {
	cells := make([]string, len(c))
	for i, column := range c {
		s := ansi.Truncate(of(column), column.width, "…")
		space := strings.Repeat(" ", max(column.width-lipgloss.Width(s), 0))
		if column.number {
			cells[i] = space + s
		} else {
			cells[i] = s + space
		}
	}
	return strings.Join(cells, "  ")
}

// spark draws the last n counts.
func spark(counts []uint32, n int) string {
	counts = counts[max(0, len(counts)-n):]
	if len(counts) == 0 {
		return ""
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	top := max(slices.Max(counts), 1)
	var b strings.Builder
	for _, c := range counts {
		b.WriteRune(bars[int(c)*(len(bars)-1)/int(top)])
	}
	return b.String()
}

func (m *model) lockLines() []string {
	l := m.lock
	if l == nil {
		return m.head("One lock")
	}
	lines := append(m.head(l.Name), fmt.Sprintf("%s, policy %s, #%d", l.Kind, l.Policy, l.ID), bold.Render(l.Words), "")
	for _, mode := range []struct {
		name string
		inspect.Mode
	}{{"read", l.Read}, {"upgradable", l.Upgradable}, {"write", l.Write}} {
		if mode.Holds == 0 && mode.Wait == nil {
			continue
		}
		lines = append(lines, m.beside(fmt.Sprintf("%-10s  %9d holds", mode.name, mode.Holds), times("waited", mode.Wait), times("held", mode.Hold))...)
	}
	g := l.GaveUp
	lines = append(lines, fmt.Sprintf("gave up     %d cancelled, %d at their deadline, %d in a deadlock", g.Canceled, g.Deadline, g.Deadlock),
		fmt.Sprintf("waits       %s  last minute", spark(l.WaitsBySecond, 60)))
	lines = append(lines, "", bold.Render("Inside"))
	lines = append(lines, calls(l.Holders, l.MoreHolders)...)
	if p := l.PlainReaders; p.Inside > 0 {
		lines = append(lines, fmt.Sprintf("  %d plain readers, the oldest for at least %s; entered since there was none:", p.Inside, inspect.Duration(p.AtLeast)))
		for _, s := range p.Sites {
			lines = append(lines, fmt.Sprintf("  %9d  %s  %s", s.Entered, place(s.Stack), labels(s.Labels)))
		}
	}
	lines = append(lines, "", bold.Render("Waiting"))
	lines = append(lines, calls(l.Waiters, l.MoreWaiters)...)
	if len(l.Keys) > 0 {
		lines = append(lines, "", bold.Render("Busiest keys"))
		for _, k := range l.Keys {
			lines = append(lines, fmt.Sprintf("  %9d holds  %6d waits  %2d inside  %2d waiting  %s", k.Holds, k.Waits, k.Inside, k.Waiting, k.Key))
		}
	}
	return lines
}

// beside puts parts into one line, or below one another where that is too long.
func (m *model) beside(first string, parts ...string) []string {
	line, lines := first, []string{first}
	for _, p := range parts {
		line += "  " + fmt.Sprintf("%-44s", p)
		if p != "" {
			lines = append(lines, strings.Repeat(" ", 12)+p)
		}
	}
	if lipgloss.Width(line) <= m.width {
		return []string{line}
	}
	return lines
}

func times(what string, h *inspect.Histogram) string {
	if h == nil || h.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%s p50 %s, p99 %s, max %s", what,
		inspect.Duration(h.Quantile(.5)), inspect.Duration(h.Quantile(.99)), inspect.Duration(h.Max))
}

func calls(list []inspect.Call, more int) []string {
	var lines []string
	for _, c := range list {
		what := c.Mode
		if c.Upgrade {
			what = "upgrade"
		}
		key := ""
		if c.Key != "" {
			key = "key " + c.Key + " "
		}
		lines = append(lines, fmt.Sprintf("  %9s  %-16s  %s  %s%s", inspect.Duration(c.Age), what, place(c.Stack), key, labels(c.Labels)))
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	if len(lines) == 0 {
		lines = append(lines, faint.Render("  nobody"))
	}
	return lines
}

func place(stack []inspect.Frame) string {
	if len(stack) == 0 {
		return "-"
	}
	f := stack[0]
	return fmt.Sprintf("%s:%d", filepath.Join(filepath.Base(filepath.Dir(f.File)), filepath.Base(f.File)), f.Line)
}

func labels(list []inspect.Label) string {
	parts := make([]string, len(list))
	for i, l := range list {
		parts[i] = l.Key + "=" + l.Value
	}
	return strings.Join(parts, " ")
}
