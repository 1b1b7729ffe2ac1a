package accesslog

import (
	"encoding/json"
	"errors"
	"math"
	"time"
)

// jsonLine has the fields of both servers. Names that differ only in case are
// different fields here: the decoder prefers the exact one.
type jsonLine struct {
	// Caddy: when the request was done, and the request.
	TS      any `json:"ts"`
	Request struct {
		Method string `json:"method"`
	} `json:"request"`
	Duration any `json:"duration"` // seconds, or with a unit

	// Traefik: when the request came, or at least when the line was written.
	StartUTC        string   `json:"StartUTC"`
	StartLocal      string   `json:"StartLocal"`
	Time            any      `json:"time"`
	RequestMethod   string   `json:"RequestMethod"`
	TraefikDuration *float64 `json:"Duration"` // nanoseconds

	// Other servers, in the plainest form.
	Method string `json:"method"`
}

func parseJSON(line string) (Request, error) {
	var l jsonLine
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		var mismatch *json.UnmarshalTypeError
		if errors.As(err, &mismatch) {
			return Request{}, errors.New("the field " + mismatch.Field + " has another type in Caddy's and Traefik's logs")
		}
		return Request{}, errors.New("not JSON")
	}
	var r Request
	for _, method := range []string{l.Request.Method, l.RequestMethod, l.Method} {
		if r.Method == "" {
			r.Method = method
		}
	}
	if l.TraefikDuration != nil {
		r.Took, r.Timed = time.Duration(*l.TraefikDuration), true
	} else {
		r.Took, r.Timed = jsonDuration(l.Duration)
	}

	var ok bool
	for _, start := range []any{l.StartUTC, l.StartLocal} {
		if r.At, ok = jsonTime(start); ok {
			return r, nil
		}
	}
	for _, end := range []any{l.TS, l.Time} {
		if r.At, ok = jsonTime(end); ok {
			r.At = r.At.Add(-r.Took)
			return r, nil
		}
	}
	return r, errors.New("no time in ts, StartUTC, StartLocal or time")
}

// jsonDuration reads Caddy's forms of a duration: seconds as a number, or a
// text with a unit.
func jsonDuration(v any) (time.Duration, bool) {
	switch v := v.(type) {
	case float64:
		if math.Abs(v) < math.MaxInt64/float64(time.Second) {
			return time.Duration(math.Round(v * float64(time.Second))), true
		}
	case string:
		d, err := time.ParseDuration(v)
		return d, err == nil
	}
	return 0, false
}

// jsonTime reads the forms of a time that the servers can be set to. A number
// counts seconds, milliseconds or nanoseconds since 1970; which one, its size
// tells.
func jsonTime(v any) (time.Time, bool) {
	switch v := v.(type) {
	case float64:
		switch {
		case v <= 0 || v >= math.MaxInt64:
		case v < 1e11:
			// A float64 of seconds in this century is exact to a
			// microsecond and no better.
			whole, part := math.Modf(v)
			return time.Unix(int64(whole), int64(math.Round(part*1e6))*1000), true
		case v < 1e14:
			return time.UnixMicro(int64(v * 1000)), true
		default:
			return time.Unix(0, int64(v)), true
		}
	case string:
		for _, layout := range []string{
			time.RFC3339Nano, "2006-01-02T15:04:05.999Z0700", "2006/01/02 15:04:05.999999999", "02/Jan/2006:15:04:05 -0700",
		} {
			if t, err := time.Parse(layout, v); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}
