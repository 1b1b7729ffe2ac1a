package main_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	locks "github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
)

// watched serves two locks at the usual place, one of which is waited for and
// has a name that would clear the screen.
func watched(t *testing.T) string {
	var quiet, busy locks.RWMutex
	t.Cleanup(inspect.Watch("quiet", &quiet))
	t.Cleanup(inspect.Watch("busy\x1b[2J\x1b]0;title\a", &busy))
	quiet.RLock()
	busy.Lock()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { busy.RLockContext(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		busy.Unlock()
		quiet.RUnlock()
	})
	mux := http.NewServeMux()
	mux.Handle("/debug/locks/", inspect.Handler())
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	for busy.State().WaitingReaders == 0 {
		time.Sleep(time.Millisecond)
	}
	return strings.TrimPrefix(s.URL, "http://")
}

func TestTopPrintsOneMomentWherePiped(t *testing.T) {
	got := drawbridge(t, nil, "top", watched(t))
	if got.status != 0 || got.err != "" {
		t.Fatalf("status %d, %s", got.status, got.err)
	}
	for _, want := range []string{"2 locks watched", "quiet", "1 reader inside", `busy\x1b[2J`, "1 writer inside", "1 reader waiting", "top_test.go:"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
	if strings.ContainsAny(got.out, "\x1b\a") {
		t.Errorf("a name reached the output as it is: %q", got.out)
	}
}

func TestTopSaysWhatIsWrongWithoutThePassword(t *testing.T) {
	notFound := httptest.NewServer(http.NotFoundHandler())
	defer notFound.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("\x1b[2J<html>")) }))
	defer page.Close()
	later := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"version":99}`)) }))
	defer later.Close()
	for url, want := range map[string]string{
		"":                               "needs the URL",
		"http://user:secret@127.0.0.1:1": "refused",
		"http://user:secret@[::bad/":     "cannot be read",
		"ftp://user:secret@host/":        "no http or https URL",
		strings.Replace(notFound.URL, "//", "//user:secret@", 1): "404",
		strings.Replace(page.URL, "//", "//user:secret@", 1):     "inspect.Handler",
		strings.Replace(later.URL, "//", "//user:secret@", 1):    "version 99",
	} {
		got := drawbridge(t, nil, "top", url)
		if got.status != 2 || got.out != "" || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, want) {
			t.Errorf("top %q: status %d, %q %q, want a line with %q", url, got.status, got.out, got.err, want)
		}
		if strings.Contains(got.err, "secret") || strings.Contains(got.err, "\x1b") {
			t.Errorf("top %q: %q", url, got.err)
		}
	}
}

// screen collects what a terminal is sent.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// shows waits until all of the texts have been sent since the last call.
func (s *screen) shows(t *testing.T, texts ...string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		sent := s.b.String()
		missing := ""
		for _, text := range texts {
			if !strings.Contains(sent, text) {
				missing = text
			}
		}
		if missing == "" {
			s.b.Reset()
		}
		s.mu.Unlock()
		switch {
		case missing == "":
			return
		case time.Now().After(deadline):
			t.Fatalf("no %q within 20 s in %q", missing, sent)
		}
	}
}

func TestTopInATerminal(t *testing.T) {
	command := exec.CommandContext(t.Context(), binary, "top", watched(t))
	command.Env = append(command.Environ(), "TERM=xterm-256color")
	tty, err := pty.StartWithSize(command, &pty.Winsize{Rows: 30, Cols: 110})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	var s screen
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			s.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	s.shows(t, "2 locks of", "STATE", "quiet", "1 reader inside", `\x1b[2J`, "1 writer inside")
	tty.WriteString("\r") // the first is the one that is waited for
	s.shows(t, "1 reader waiting", "policy Balanced", "Inside", "Waiting", "top_test.go:")
	tty.WriteString("\x1b")
	s.shows(t, "quiet")
	tty.WriteString("q")
	if err := command.Wait(); err != nil {
		t.Errorf("q leaves with %v", err)
	}
	<-done
}
