package inspect

import (
	"bufio"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"
)

// Handler serves what the locks of the process are doing. Mount it where the
// net/http/pprof handlers would be, on a listener that only your own people
// reach: it shows the names of locks, the labels of requests and the paths of
// source files to whoever asks.
//
//	mux.Handle("/debug/locks/", inspect.Handler())
//
// Below the place where it is mounted, which must end in a slash, there are
//
//	./                  the page: every lock, and each with its own page, live
//	./?format=json      a [Report] of all locks
//	./?format=text      a table for people with curl
//	./trace             the waits and holds of late in the Chrome trace-event
//	                    format, for ui.perfetto.dev
//	./held, ./waiting   profiles of those who hold and of those who wait, for
//	                    go tool pprof
//
// All of them take lock=ID for one lock alone, and the first three limit=N for
// the busiest N; text is limited to 200 unless asked for more, trace to 200 at
// most. brief=1 leaves buckets and calls out of the JSON.
//
// Only GET and HEAD are answered, and none changes anything. Pages are pushed
// by server-sent events, of which one handler serves 64 at once and ends all
// when the [http.Server.Shutdown] of their server begins. Everything that a
// request can make the process keep has a bound.
func Handler() http.Handler {
	return &handler{
		streams:  make(chan struct{}, maxStreams),
		reports:  make(chan struct{}, maxReports),
		shutdown: newShutdowns(),
	}
}

type handler struct {
	streams  chan struct{} // a place for each stream
	reports  chan struct{} // and for each other answer about locks
	ticks    ticks
	shutdown *shutdowns
}

const (
	maxStreams = 64
	maxReports = 16
	busyLocks  = 200 // locks in a tick, and in a trace
)

//go:embed web
var web embed.FS

// files are the parts of the page.
var files = map[string]string{
	"":          "text/html; charset=utf-8",
	"style.css": "text/css; charset=utf-8",
	"app.js":    "text/javascript; charset=utf-8",
	"table.js":  "text/javascript; charset=utf-8",
	"lock.js":   "text/javascript; charset=utf-8",
	"lanes.js":  "text/javascript; charset=utf-8",
	"text.js":   "text/javascript; charset=utf-8",
}

const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "inspect: only GET and HEAD are answered", http.StatusMethodNotAllowed)
		return
	}
	_, name := path.Split(r.URL.Path)
	q, err := parseQuery(r)
	if err != nil {
		http.Error(w, "inspect: "+err.Error(), http.StatusBadRequest)
		return
	}
	switch {
	case name == "events":
		h.stream(w, r, q)
	case name == "trace" || name == "held" || name == "waiting" || name == "" && q.format != "html":
		h.answer(w, r, name, q)
	case files[name] != "":
		serveFile(w, r, name)
	default:
		http.Error(w, "inspect: there is no such page", http.StatusNotFound)
	}
}

func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Content-Type", files[name])
	if name == "" {
		name = "index.html"
	}
	data, err := web.ReadFile("web/" + name)
	if err != nil {
		http.Error(w, "inspect: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if r.Method == http.MethodGet {
		w.Write(data)
	}
}

// query is what a request asks for.
type query struct {
	format string
	lock   uint64 // 0 for all
	limit  int    // 0 for all
	brief  bool
}

func parseQuery(r *http.Request) (q query, err error) {
	v := r.URL.Query()
	q.format = v.Get("format")
	switch q.format {
	case "":
		q.format = "html"
	case "html", "json", "text":
	default:
		return q, fmt.Errorf("unknown format %.20q; use json or text", q.format)
	}
	if s := v.Get("lock"); s != "" {
		if q.lock, err = strconv.ParseUint(s, 10, 64); err != nil || q.lock == 0 {
			return q, fmt.Errorf("lock=%.20q is not the ID of a lock", s)
		}
	}
	if s := v.Get("limit"); s != "" {
		if q.limit, err = strconv.Atoi(s); err != nil || q.limit <= 0 {
			return q, fmt.Errorf("limit=%.20q is not a positive number", s)
		}
	}
	q.brief = v.Get("brief") == "1"
	return q, nil
}

// errGone is for a lock that is not watched, or not any more.
var errGone = errors.New("inspect: no such lock is watched; it may be gone")

// answer writes one of the reports. All but the table have one lock at a time
// in memory.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, name string, q query) {
	select {
	case h.reports <- struct{}{}:
		defer func() { <-h.reports }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "inspect: too many reports at once; try again", http.StatusServiceUnavailable)
		return
	}
	records, total, err := q.records()
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	report := newReport(total, total-len(records))
	var write func(io.Writer) error
	contentType := "application/json"
	switch {
	case name == "held" || name == "waiting":
		contentType = "application/octet-stream"
		w.Header().Set("Content-Disposition", `attachment; filename="locks-`+name+`.pb.gz"`)
		write = func(w io.Writer) error { return writeProfile(w, reports(records, nil), name == "waiting", report.Time) }
	case name == "trace":
		records = records[:min(len(records), busyLocks)]
		w.Header().Set("Content-Disposition", `attachment; filename="locks-trace.json"`)
		write = func(w io.Writer) error { return writeTrace(w, reports(records, new(uint64))) }
	case q.format == "text":
		contentType = "text/plain; charset=utf-8"
		if q.limit == 0 {
			records = records[:min(len(records), busyLocks)]
			report.LeftOut = total - len(records)
		}
		write = func(w io.Writer) error {
			report.Locks = reports(records, nil)
			return WriteText(w, report)
		}
	default:
		write = func(w io.Writer) error { return writeJSON(w, report, records, q) }
	}
	w.Header().Set("Content-Type", contentType)
	if r.Method == http.MethodHead {
		return
	}
	if err := write(w); err != nil {
		return // the reader has gone
	}
}

// records returns those that are asked for, the busiest first, and how many
// there are in all.
func (q query) records() (l []*record, total int, err error) {
	if q.lock != 0 {
		r := watched.get(q.lock)
		if r == nil {
			return nil, 0, errGone
		}
		return []*record{r}, 1, nil
	}
	l = busiest()
	total = len(l)
	if q.limit > 0 {
		l = l[:min(len(l), q.limit)]
	}
	return l, total, nil
}

func reports(records []*record, after *uint64) []Lock {
	l := make([]Lock, 0, len(records))
	for _, r := range records {
		if after != nil {
			*after = 0
		}
		lock, _ := r.reportAfter(after)
		l = append(l, lock)
	}
	return l
}

func newReport(total, leftOut int) *Report {
	return &Report{Version: Version, Time: time.Now(), Program: program, Watched: total, LeftOut: leftOut, Locks: []Lock{}}
}

var program = func() string {
	name, err := os.Executable()
	if err != nil {
		return "unknown program"
	}
	return filepath.Base(name)
}()

// writeJSON writes report with the locks of records, one at a time.
func writeJSON(w io.Writer, report *Report, records []*record, q query) error {
	head, err := json.Marshal(report)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	b.Write(head[:len(head)-len("]}")])
	for i, r := range records {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		var after *uint64
		if q.lock != 0 {
			after = new(uint64)
		}
		l, _ := r.reportAfter(after)
		if q.brief {
			l.shorten()
		}
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, err := b.Write(data); err != nil {
			return err
		}
	}
	b.WriteString("]}\n")
	return b.Flush()
}

// shorten leaves out what a table of many locks does not show.
func (l *Lock) shorten() {
	l.MoreHolders += len(l.Holders)
	l.MoreWaiters += len(l.Waiters)
	l.Holders, l.Waiters = []Call{}, []Call{}
	l.PlainReaders.Sites = nil
	for _, m := range []*Mode{&l.Read, &l.Upgradable, &l.Write} {
		for _, h := range []*Histogram{m.Wait, m.Hold} {
			if h != nil {
				h.brief = true // it is a copy of our own
			}
		}
	}
}
