package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"runtime/pprof"
	"strings"
	"time"
)

// A proxy answers the requests of clients.
type proxy struct {
	guard     guard
	checks    checker
	transport http.RoundTripper
	blame     *blame
	log       *slog.Logger
}

var (
	errNoRoute = errors.New("no route has a prefix of this path")
	errNoTable = errors.New("there is no routing table yet")
)

// statusClientGone is for the counter of answers: nobody is there to read it.
const statusClientGone = 499

// ServeHTTP looks the route up and waits for the health check in one hold of
// the table, as a caller that must not use a route which changes under it.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if code, why := refuse(r); why != "" {
		http.Error(w, why, code)
		return
	}
	var found route
	ctx := pprof.WithLabels(r.Context(), pprof.Labels("by", fmt.Sprintf("%.100s", r.Method+" "+r.URL.Path)))
	err := p.guard.read(ctx, func(ctx context.Context, t *table) error {
		var ok bool
		if found, _, ok = t.lookup(r.URL.Path); !ok {
			return errNoRoute
		}
		return p.checks.check(ctx, found, "request")
	})
	if err != nil {
		p.fail(w, r, err)
		return
	}
	upstream, err := url.Parse(found.Upstream)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	forward := httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(upstream)
			out.SetXForwarded()
			out.Out.Header.Add("Via", via(out.In))
		},
		ErrorHandler: p.fail,
		ErrorLog:     slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	forward.ServeHTTP(w, r)
}

// refuse returns why the gateway does not answer r. It is no open proxy, and
// it does not guess what an upstream makes of a path that has two readings.
func refuse(r *http.Request) (code int, why string) {
	escaped := strings.ToLower(r.URL.RawPath)
	switch {
	case cameBack(r):
		return http.StatusLoopDetected, "this request has been here before: a route leads back to the gateway"
	case r.Method == http.MethodConnect:
		return http.StatusMethodNotAllowed, "this is no open proxy: CONNECT is refused"
	case r.URL.IsAbs() || r.URL.Host != "" || !strings.HasPrefix(r.URL.Path, "/"):
		return http.StatusBadRequest, "this is no open proxy: ask for a path"
	case strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c"):
		return http.StatusBadRequest, "an encoded slash is refused"
	case strings.TrimSuffix(r.URL.Path, "/") != strings.TrimSuffix(path.Clean(r.URL.Path), "/"):
		return http.StatusBadRequest, "a path with . or .. or // is refused"
	}
	return 0, ""
}

// fail answers for a request that has not reached its upstream, or got no
// answer from it.
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case r.Context().Err() != nil:
		w.WriteHeader(statusClientGone)
	case errors.Is(err, errNoRoute):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, errBusy), errors.Is(err, errNoTable):
		p.blame.log(err)
		w.Header().Set("Retry-After", "1")
		http.Error(w, publicly(err), http.StatusServiceUnavailable)
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		p.log.Warn("no answer from the upstream in time", "path", r.URL.Path, "why", err)
		http.Error(w, "the upstream did not answer in time", http.StatusGatewayTimeout)
	default:
		p.log.Warn("no answer from the upstream", "path", r.URL.Path, "why", err)
		http.Error(w, "the upstream gives no answer", http.StatusBadGateway)
	}
}

// publicly is what a client may know of err: not who else is inside.
func publicly(err error) string {
	if errors.Is(err, errNoTable) {
		return errNoTable.Error()
	}
	return errBusy.Error()
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// newTransport is how upstreams are reached: directly, with limits.
func newTransport(answer time.Duration) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.DialContext = dialer.DialContext
	t.ResponseHeaderTimeout = answer
	t.MaxIdleConnsPerHost = 512
	t.MaxIdleConns = 2048
	return t
}
