// Package testlog makes the access logs that the tests read: bursts and gaps,
// requests that take a moment and some that take long, lines out of order and
// lines that are no request. The same seed makes the same log.
package testlog

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/accesslog"
)

// Format is the form of a line.
type Format int

const (
	Common   Format = iota // no durations
	Combined               // no durations, but referrer and user agent
	Traefik                // combined with a duration at the end
	CaddyJSON
	TraefikJSON
)

// malformed are lines that real logs have between their requests: a TLS
// client on a plain port, a scanner, a line that was cut off, a message.
var malformed = []string{
	`203.0.113.7 - - [12/Mar/2024:08:00:01 +0000] "\x16\x03\x01\x02\x00\x01" 400 157 "-" "-"`,
	`203.0.113.9 - - [12/Mar/2024:08:00:02 +0000] "" 408 -`,
	`198.51.100.4 - - [12/Mar/2024:08:0`,
	`{"level":"info","ts":1710230402.5,"msg":"serving initial configuration"}`,
	"\x1b[2J\x1b[31mnot a log line",
}

// Requests makes n requests in order of arrival. Times and durations are as
// exact as format can write them.
func Requests(seed uint64, n int, format Format) []accesslog.Request {
	r := rand.New(rand.NewPCG(seed, 1))
	at := time.Date(2024, time.March, 12, 8, 0, 0, 0, time.UTC)
	var requests []accesslog.Request
	burst := 0
	for range n {
		switch {
		case burst > 0: // within a burst, all at once
			burst--
			at = at.Add(time.Duration(r.IntN(40)) * time.Millisecond)
		case r.IntN(30) == 0:
			burst = 5 + r.IntN(20)
		case r.IntN(60) == 0: // the night, or an outage
			at = at.Add(time.Duration(1+r.IntN(90)) * time.Minute)
		default:
			at = at.Add(time.Duration(r.ExpFloat64() * float64(2*time.Second)).Truncate(time.Millisecond))
		}
		request := accesslog.Request{At: at, Method: method(r)}
		switch format {
		case Common, Combined:
			request.At = at.Truncate(time.Second)
		case Traefik:
			request.At = at.Truncate(time.Second)
			request.Took, request.Timed = took(r).Truncate(time.Millisecond), true
		default:
			request.Took, request.Timed = took(r), true
		}
		requests = append(requests, request)
	}
	return requests
}

func method(r *rand.Rand) string {
	switch n := r.IntN(100); {
	case n < 88:
		return "GET"
	case n < 91:
		return "HEAD"
	case n < 92:
		return "OPTIONS"
	case n < 97:
		return "POST"
	default:
		return "DELETE"
	}
}

// took is some milliseconds, and for one request in forty up to two seconds.
func took(r *rand.Rand) time.Duration {
	if r.IntN(40) == 0 {
		return time.Duration(100+r.IntN(1900)) * time.Millisecond
	}
	return time.Duration(200+r.IntN(8000)) * time.Microsecond
}

// Write writes requests as lines of the given form. One line in twenty changes
// places with the next one, and after every fortieth comes a line that is no
// request. It returns how many of those there are.
func Write(w io.Writer, seed uint64, requests []accesslog.Request, format Format) (bad int, err error) {
	r := rand.New(rand.NewPCG(seed, 2))
	lines := make([]string, len(requests))
	for i, request := range requests {
		lines[i] = line(r, request, format)
	}
	for i := 1; i < len(lines); i++ {
		if r.IntN(20) == 0 {
			lines[i-1], lines[i] = lines[i], lines[i-1]
		}
	}
	for i, l := range lines {
		if _, err := fmt.Fprintln(w, l); err != nil {
			return bad, err
		}
		if i%40 == 39 {
			if _, err := fmt.Fprintln(w, malformed[bad%len(malformed)]); err != nil {
				return bad, err
			}
			bad++
		}
	}
	return bad, nil
}

func line(r *rand.Rand, q accesslog.Request, format Format) string {
	host := fmt.Sprintf("198.51.100.%d", 1+r.IntN(250))
	path := fmt.Sprintf("/routes/%d?q=\\\"a b\\\"", r.IntN(500))
	status, size := 200, r.IntN(50_000)
	common := fmt.Sprintf(`%s - - [%s] "%s %s HTTP/1.1" %d %d`, host, q.At.Format("02/Jan/2006:15:04:05 -0700"), q.Method, path, status, size)
	switch format {
	case Combined:
		return common + ` "https://example.com/" "Mozilla/5.0 (X11; Linux x86_64) \"quoted\" [12ms]"`
	case Traefik:
		return common + fmt.Sprintf(` "-" "-" %d "routes@file" "http://192.0.2.1:80" %dms`, r.IntN(1000), q.Took.Milliseconds())
	case CaddyJSON:
		return object(map[string]any{
			"level": "info", "logger": "http.log.access", "msg": "handled request",
			"ts":       float64(q.At.Add(q.Took).UnixMicro()) / 1e6,
			"request":  map[string]any{"remote_ip": host, "proto": "HTTP/2.0", "method": q.Method, "host": "example.com", "uri": path},
			"duration": q.Took.Seconds(), "size": size, "status": status,
		})
	case TraefikJSON:
		return object(map[string]any{
			"ClientHost": host, "RequestMethod": q.Method, "RequestPath": path, "DownstreamStatus": status,
			"StartUTC": q.At.UTC().Format(time.RFC3339Nano), "Duration": q.Took.Nanoseconds(),
			"time": q.At.Add(q.Took).Format(time.RFC3339), "level": "info", "msg": "",
		})
	}
	return common
}

func object(fields map[string]any) string {
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return string(b)
}
