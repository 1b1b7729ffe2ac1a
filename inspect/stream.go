package inspect

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"
	"weak"
)

const (
	tickEvery = time.Second            // the table
	lockEvery = 250 * time.Millisecond // the page of one lock

	// writeFor is how long a page may take to take a tick. It is set for
	// each write, so that the server's own WriteTimeout does not end the
	// stream.
	writeFor = 10 * time.Second

	maxSpansSent = 500 // in one message
)

// stream pushes reports as server-sent events until the page leaves, the lock
// is gone or the server shuts down. It runs on the goroutine of its request.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, q query) {
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "inspect: too many pages are open", http.StatusServiceUnavailable)
		return
	}
	message, end := h.messages(q)
	if message == nil {
		http.Error(w, errGone.Error(), http.StatusNotFound)
		return
	}
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	down := h.shutdown.of(server)
	control := http.NewResponseController(w)
	every := tickEvery
	if q.lock != 0 {
		every = lockEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		data, last := message()
		// A server without deadlines is held up by a slow page no longer
		// than its connection lives.
		_ = control.SetWriteDeadline(time.Now().Add(writeFor))
		if _, err := w.Write(data); err != nil {
			return
		}
		if control.Flush() != nil || last {
			return
		}
		select {
		case <-ticker.C:
		case <-down:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// messages returns what makes the messages of a stream, and what ends it; nil
// if the lock is gone. last says that no other message follows.
func (h *handler) messages(q query) (message func() (data []byte, last bool), end func()) {
	if q.lock == 0 {
		return func() ([]byte, bool) { return h.ticks.now(), false }, func() {}
	}
	r := watched.get(q.lock)
	if r == nil {
		return nil, nil
	}
	r.view(1)
	// Between ticks the page keeps no lock alive.
	w := weak.Make(r)
	var after, tick uint64
	message = func() ([]byte, bool) {
		r := watched.get(q.lock)
		if r == nil {
			return []byte("event: gone\ndata: {}\n\n"), true
		}
		tick++
		l, lost := r.reportAfter(&after)
		if n := len(l.Spans) - maxSpansSent; n > 0 {
			l.Spans = l.Spans[n:]
			lost += uint64(n)
		}
		if tick == 1 {
			lost = 0 // what was over before the page was opened
		}
		report := newReport(1, 0)
		report.Tick, report.Dropped, report.Locks = tick, lost, []Lock{l}
		return event(report), false
	}
	return message, func() {
		if r := w.Value(); r != nil {
			r.view(-1)
		}
	}
}

func (r *record) view(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans.view(n)
}

// ticks makes the message about all locks once for all pages.
type ticks struct {
	mu   sync.Mutex
	made time.Time
	n    uint64
	data []byte
}

// now returns the newest tick, which is made anew when it is older than half
// the distance between two.
func (t *ticks) now() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.data != nil && time.Since(t.made) < tickEvery/2 {
		return t.data
	}
	records := busiest()
	busy := records[:min(len(records), busyLocks)]
	report := newReport(len(records), len(records)-len(busy))
	report.Locks = reports(busy, nil)
	for i := range report.Locks {
		report.Locks[i].shorten()
	}
	t.n++
	report.Tick = t.n
	t.made, t.data = report.Time, event(report)
	return t.data
}

// event writes report as a server-sent event.
func event(report *Report) []byte {
	var b bytes.Buffer
	b.WriteString("data: ")
	if err := json.NewEncoder(&b).Encode(report); err != nil {
		b.WriteByte('\n') // of what is ours, everything can be encoded
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// shutdowns knows when the servers that streams run on begin to shut down:
// Shutdown waits for requests to end and does not cancel their contexts.
type shutdowns struct {
	mu      sync.Mutex
	servers map[weak.Pointer[http.Server]]chan struct{}
}

func newShutdowns() *shutdowns {
	return &shutdowns{servers: make(map[weak.Pointer[http.Server]]chan struct{})}
}

// of returns a channel that is closed when s shuts down.
func (d *shutdowns) of(s *http.Server) <-chan struct{} {
	if s == nil {
		return nil // not served by net/http
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	w := weak.Make(s)
	if c := d.servers[w]; c != nil {
		return c
	}
	for old := range d.servers {
		if old.Value() == nil {
			delete(d.servers, old)
		}
	}
	c := make(chan struct{})
	d.servers[w] = c
	s.RegisterOnShutdown(sync.OnceFunc(func() { close(c) }))
	return c
}
