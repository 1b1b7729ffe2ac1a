// Package top shows the locks of another process in a terminal.
package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/drawbridge-go/drawbridge/inspect"
)

// Source is where a process serves inspect.Handler.
type Source struct {
	url    *url.URL
	client http.Client
}

const (
	patience  = 10 * time.Second // for an answer
	maxAnswer = 64 << 20         // bytes
	maxLocks  = 1000
)

// Open returns the source at address: a URL, or host and port alone, with the
// path /debug/locks/ where it has none.
func Open(address string) (*Source, error) {
	if address == "" {
		return nil, errors.New("top needs the URL of a process, such as http://localhost:6060/debug/locks/")
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		// What the parser says has the whole URL in it, which may have a
		// password.
		return nil, errors.New("the URL cannot be read; it looks like http://localhost:6060/debug/locks/")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no http or https URL", u.Redacted())
	}
	if path.Clean("/"+u.Path) == "/" {
		u.Path = "/debug/locks/"
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return &Source{url: u, client: http.Client{Timeout: patience}}, nil
}

// String returns the URL without its password.
func (s *Source) String() string { return s.url.Redacted() }

// Locks asks for all locks, the busiest first.
func (s *Source) Locks(ctx context.Context) (*inspect.Report, error) {
	return s.get(ctx, url.Values{"limit": {strconv.Itoa(maxLocks)}})
}

// Lock asks for one lock.
func (s *Source) Lock(ctx context.Context, id uint64) (*inspect.Report, error) {
	r, err := s.get(ctx, url.Values{"lock": {strconv.FormatUint(id, 10)}})
	if err == nil && len(r.Locks) != 1 {
		err = errors.New("the answer is not about one lock")
	}
	return r, err
}

func (s *Source) get(ctx context.Context, query url.Values) (*inspect.Report, error) {
	u := *s.url
	query.Set("format", "json")
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, s.failed(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, s.failed(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		line, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		first, _, _ := strings.Cut(string(line), "\n")
		return nil, fmt.Errorf("%s answers %s: %s", s, response.Status, first)
	}
	var r inspect.Report
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&r); err != nil {
		return nil, fmt.Errorf("%s does not answer like inspect.Handler; is it mounted there? (%v)", s, err)
	}
	if r.Version != inspect.Version {
		return nil, fmt.Errorf("%s speaks version %d of the format and this command version %d; use the command of the same release", s, r.Version, inspect.Version)
	}
	clean(&r)
	return &r, nil
}

// failed leaves the URL out of an error of the client, which has the password.
func (s *Source) failed(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", s, err)
}

// clean makes every text that comes from the other process one that can move
// no cursor.
func clean(r *inspect.Report) {
	text(&r.Program)
	for i := range r.Locks {
		l := &r.Locks[i]
		text(&l.Name, &l.Kind, &l.Policy, &l.Words)
		if l.Snapshot != nil {
			text(&l.Snapshot.Error)
		}
		for i := range l.Keys {
			text(&l.Keys[i].Key)
		}
		for _, calls := range [][]inspect.Call{l.Holders, l.Waiters} {
			for i := range calls {
				text(&calls[i].Mode, &calls[i].Key)
				cleanSite(calls[i].Labels, calls[i].Stack)
			}
		}
		for _, s := range l.PlainReaders.Sites {
			cleanSite(s.Labels, s.Stack)
		}
	}
}

func cleanSite(labels []inspect.Label, stack []inspect.Frame) {
	for i := range labels {
		text(&labels[i].Key, &labels[i].Value)
	}
	for i := range stack {
		text(&stack[i].Function, &stack[i].File)
	}
}

func text(fields ...*string) {
	for _, f := range fields {
		if strings.ContainsFunc(*f, func(r rune) bool { return !unicode.IsPrint(r) }) {
			quoted := strconv.Quote(*f)
			*f = quoted[1 : len(quoted)-1]
		}
	}
}
