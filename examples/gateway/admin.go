package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// An admin is the listener for the gateway's own people.
type admin struct {
	guard   guard
	token   string
	status  func() any
	hosts   []string // names by which it may be asked, beside addresses and localhost
	metrics http.Handler
	locks   http.Handler
	blame   *blame
	log     *slog.Logger
}

func (a *admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /routes", a.list)
	mux.HandleFunc("POST /routes", a.write(a.add))
	mux.HandleFunc("GET /routes/{prefix...}", a.show)
	mux.HandleFunc("PUT /routes/{prefix...}", a.write(a.put))
	mux.HandleFunc("DELETE /routes/{prefix...}", a.write(a.remove))
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, a.status())
	})
	mux.Handle("GET /metrics", a.metrics)
	mux.Handle("/debug/locks/", a.locks)
	return a.knownHost(http.NewCrossOriginProtection().Handler(mux))
}

// knownHost refuses requests that ask for a name which is not the gateway's.
// Anybody can let a name of theirs lead to the gateway's address; to the
// browser of somebody who has opened a page under that name, everything here
// would then be a part of that page's site.
func (a *admin) knownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostname(r.Host)
		if net.ParseIP(host) == nil && host != "localhost" && !slices.Contains(a.hosts, host) {
			answer(w, http.StatusMisdirectedRequest, failure{"ask by IP address or as localhost; --admin-host allows another name"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostname is a host in lower case and without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// entry is a route as the API shows it.
type entry struct {
	Prefix string `json:"prefix"`
	Layer  string `json:"layer"` // "file" or "api"
	route
}

// problem is an answer other than success.
type problem struct {
	code int
	text string
}

func (p *problem) Error() string { return p.text }

func (a *admin) list(w http.ResponseWriter, r *http.Request) {
	list := []entry{}
	err := a.guard.read(by(r), func(_ context.Context, t *table) error {
		for prefix, route := range t.API {
			list = append(list, entry{prefix, "api", route})
		}
		for prefix, route := range t.File {
			list = append(list, entry{prefix, "file", route})
		}
		return nil
	})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	sortEntries(list)
	answer(w, http.StatusOK, list)
}

func (a *admin) show(w http.ResponseWriter, r *http.Request) {
	prefix := "/" + r.PathValue("prefix")
	var found entry
	err := a.guard.read(by(r), func(_ context.Context, t *table) error {
		route, layer, ok := t.at(prefix)
		if !ok {
			return &problem{http.StatusNotFound, fmt.Sprintf("there is no route %q", prefix)}
		}
		found = entry{prefix, layer, route}
		return nil
	})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, found)
}

// add adds a route if its prefix has none, which it finds out in the same hold.
func (a *admin) add(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Prefix string `json:"prefix"`
		target
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	added, err := newRoute(body.Prefix, body.target)
	if err != nil {
		return err
	}
	err = a.guard.change(by(r), func(ctx context.Context, t *table, write func() error) error {
		if _, layer, there := t.at(body.Prefix); there {
			return &problem{http.StatusConflict, fmt.Sprintf("there is a route %q already, from the %s; PUT replaces it", body.Prefix, layer)}
		}
		return set(t, body.Prefix, added, write)
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/routes"+body.Prefix)
	answer(w, http.StatusCreated, entry{body.Prefix, "api", added})
	return nil
}

// put sets the API's route of a prefix, above the file's if that has one.
func (a *admin) put(w http.ResponseWriter, r *http.Request) error {
	prefix := "/" + r.PathValue("prefix")
	var body target
	if err := decode(w, r, &body); err != nil {
		return err
	}
	replacement, err := newRoute(prefix, body)
	if err != nil {
		return err
	}
	code := http.StatusCreated
	err = a.guard.change(by(r), func(ctx context.Context, t *table, write func() error) error {
		if _, _, there := t.at(prefix); there {
			code = http.StatusOK
		}
		return set(t, prefix, replacement, write)
	})
	if err != nil {
		return err
	}
	answer(w, code, entry{prefix, "api", replacement})
	return nil
}

func set(t *table, prefix string, r route, write func() error) error {
	if _, there := t.API[prefix]; !there && len(t.API) >= maxRoutes {
		return &problem{http.StatusInsufficientStorage, fmt.Sprintf("there are %d routes of the API, and no more are taken", maxRoutes)}
	}
	if err := write(); err != nil {
		return err
	}
	t.API[prefix] = r
	return nil
}

func (a *admin) remove(w http.ResponseWriter, r *http.Request) error {
	prefix := "/" + r.PathValue("prefix")
	err := a.guard.change(by(r), func(ctx context.Context, t *table, write func() error) error {
		if _, there := t.API[prefix]; !there {
			if _, there := t.File[prefix]; there {
				return &problem{http.StatusConflict, fmt.Sprintf("route %q is the file's: remove it there", prefix)}
			}
			return &problem{http.StatusNotFound, fmt.Sprintf("there is no route %q", prefix)}
		}
		if err := write(); err != nil {
			return err
		}
		delete(t.API, prefix)
		return nil
	})
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// write lets a handler that changes the table be called with the token alone.
func (a *admin) write(handler func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	want := sha256.Sum256([]byte(a.token)) // sums have one length, so the comparison tells nothing of the token's
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(given))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			answer(w, http.StatusUnauthorized, failure{"send the gateway's token as Authorization: Bearer TOKEN"})
			return
		}
		// A change that leaves this process may have to wait for others.
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
		defer cancel()
		r = r.WithContext(ctx)
		if err := handler(w, r); err != nil {
			a.fail(w, r, err)
		}
	}
}

func newRoute(prefix string, t target) (route, error) {
	r := route{Upstream: t.Upstream, Health: t.Health}
	if err := errors.Join(checkPrefix(prefix), r.check()); err != nil {
		return route{}, &problem{http.StatusUnprocessableEntity, strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	return r, nil
}

// decode reads one JSON value of at most 64 KiB from the body into v.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return &problem{http.StatusUnsupportedMediaType, "send Content-Type: application/json"}
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(v)
	if err == nil {
		if _, more := decoder.Token(); more != io.EOF {
			err = errors.New("something follows the object")
		}
	}
	if e := new(http.MaxBytesError); errors.As(err, &e) {
		return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", e.Limit)}
	}
	if err != nil {
		return &problem{http.StatusBadRequest, "the body is not the JSON of a route: " + err.Error()}
	}
	return nil
}

func (a *admin) fail(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	switch {
	case r.Context().Err() == context.Canceled:
		w.WriteHeader(statusClientGone)
	case errors.As(err, &p):
		answer(w, p.code, failure{p.text})
	case errors.Is(err, errEngine):
		a.log.Error("a change may or may not have been made", "path", r.URL.Path, "why", err)
		w.Header().Set("Retry-After", "1")
		answer(w, http.StatusServiceUnavailable, failure{errEngine.Error()})
	case errors.Is(err, errBusy), errors.Is(err, errNoTable), errors.Is(err, context.DeadlineExceeded):
		a.blame.log(err)
		w.Header().Set("Retry-After", "1")
		answer(w, http.StatusServiceUnavailable, failure{publicly(err)})
	default:
		a.log.Error("an admin request failed", "path", r.URL.Path, "why", err)
		answer(w, http.StatusInternalServerError, failure{"the change failed; the log says why"})
	}
}

type failure struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.Encode(v)
}

// by labels the holds of r for the page of the lock.
func by(r *http.Request) context.Context {
	return pprof.WithLabels(r.Context(), pprof.Labels("by", fmt.Sprintf("%.100s", "admin "+r.Method+" "+r.URL.Path)))
}

func sortEntries(list []entry) {
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Layer, b.Layer))
	})
}
