package accesslog

import (
	"errors"
	"strings"
	"time"
)

// parseCommon reads a line of the common log format:
//
//	host identity user [day/month/year:hour:minute:second zone] "method path protocol" status bytes
//
// The combined format goes on with the referrer and the user agent, in
// quotes. Traefik ends the line with how long the request took, as 12ms.
func parseCommon(line string) (Request, error) {
	_, rest, ok := strings.Cut(line, " [")
	if !ok {
		return Request{}, errors.New("no time in brackets")
	}
	stamp, rest, ok := strings.Cut(rest, `] "`)
	if !ok {
		return Request{}, errors.New("no request in quotes after the time")
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", stamp)
	if err != nil {
		return Request{}, errors.New("the time is not of the form 02/Jan/2006:15:04:05 -0700")
	}
	request, rest, ok := cutQuoted(rest)
	if !ok {
		return Request{}, errors.New("the request's quotes do not end")
	}
	method, _, _ := strings.Cut(request, " ")
	fields := strings.Fields(rest)
	if len(fields) == 0 || !isStatus(fields[0]) {
		return Request{}, errors.New("no status after the request")
	}
	r := Request{At: at, Method: method}
	if last := fields[len(fields)-1]; strings.HasSuffix(last, "ms") {
		if took, err := time.ParseDuration(last); err == nil {
			r.Took, r.Timed = took, true
		}
	}
	return r, nil
}

// cutQuoted returns what stands before and after the first quote that no
// backslash escapes.
func cutQuoted(s string) (before, after string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func isStatus(s string) bool {
	if s == "-" {
		return true
	}
	return len(s) == 3 && strings.Trim(s, "0123456789") == ""
}
