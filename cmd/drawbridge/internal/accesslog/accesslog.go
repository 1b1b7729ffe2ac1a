// Package accesslog reads the requests out of an access log: the common and
// combined formats, also with the fields that Traefik appends, and JSON lines
// with the fields of Caddy and of Traefik. Formats may be mixed, and gzip is
// recognised by its content.
package accesslog

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Request is one line of a log.
type Request struct {
	At     time.Time // when it arrived, as exactly as the log says
	Method string
	Took   time.Duration
	Timed  bool // whether the log says how long it took
}

// Reads reports whether the request only reads: GET, HEAD and OPTIONS do.
func (r Request) Reads() bool {
	return r.Method == "GET" || r.Method == "HEAD" || r.Method == "OPTIONS"
}

// Log is what a file holds.
type Log struct {
	Requests  []Request // in order of arrival
	Late      int       // requests that stood after one that arrived later
	Malformed int       // lines that are no request
	First     []Malformed
}

// Malformed is a line that is no request.
type Malformed struct {
	Line   int
	Text   string // its beginning, as it is in the file
	Reason error
}

// String quotes the line, so that it is safe to show in a terminal.
func (m Malformed) String() string {
	return fmt.Sprintf("line %d: %v: %q", m.Line, m.Reason, m.Text)
}

const (
	longestLine  = 64 << 10 // what is longer is no request
	shownLines   = 3        // of those that are no request
	shownLetters = 80       // of each
)

var errLong = fmt.Errorf("longer than %d KiB", longestLine>>10)

// Read reads a log to its end. Blank lines do not count. It is an error when
// r cannot be read to its end or has no request.
func Read(r io.Reader) (Log, error) {
	lines, err := plainText(r)
	if err != nil {
		return Log{}, err
	}
	var log Log
	number := 0
	for {
		text, tooLong, err := nextLine(lines)
		if err == io.EOF {
			break
		}
		number++
		if err != nil {
			return Log{}, fmt.Errorf("reading line %d: %w", number, err)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		request, err := parse(text)
		if tooLong {
			err = errLong
		}
		if err != nil {
			log.Malformed++
			if len(log.First) < shownLines {
				log.First = append(log.First, Malformed{number, text[:min(len(text), shownLetters)], err})
			}
			continue
		}
		log.Requests = append(log.Requests, request)
	}
	switch {
	case len(log.Requests) > 0:
	case log.Malformed == 0:
		return Log{}, errors.New("the log is empty")
	default:
		return Log{}, fmt.Errorf("no line of %d is a request in common, combined or JSON form; %v", log.Malformed, log.First[0])
	}
	log.sort()
	return log, nil
}

// sort puts the requests in order of arrival. A server writes a line when the
// request ends, and several write to one file.
func (log *Log) sort() {
	var latest time.Time
	for _, r := range log.Requests {
		if r.At.Before(latest) {
			log.Late++
		} else {
			latest = r.At
		}
	}
	slices.SortStableFunc(log.Requests, func(a, b Request) int { return a.At.Compare(b.At) })
}

// plainText unpacks r where it begins as gzip does, and drops the byte order
// mark with which some programs begin a text.
func plainText(r io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, longestLine)
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(z, longestLine)
	}
	if mark, _ := b.Peek(3); string(mark) == "\uFEFF" {
		b.Discard(len(mark))
	}
	return b, nil
}

// nextLine returns the next line, or the beginning of one that is too long.
func nextLine(b *bufio.Reader) (text string, tooLong bool, err error) {
	line, more, err := b.ReadLine()
	if err != nil {
		return "", false, err
	}
	text, tooLong = string(line), more
	for more && err == nil {
		_, more, err = b.ReadLine()
	}
	if err == io.EOF { // after the beginning of a line: the next call says so
		err = nil
	}
	return text, tooLong, err
}

func parse(line string) (Request, error) {
	read := parseCommon
	if strings.HasPrefix(strings.TrimLeft(line, " \t"), "{") {
		read = parseJSON
	}
	r, err := read(line)
	switch {
	case err != nil:
		return r, err
	case !isMethod(r.Method):
		return r, fmt.Errorf("no HTTP method")
	case r.At.Year() < 1970 || r.At.Year() > 2200:
		return r, fmt.Errorf("a time in the year %d", r.At.Year())
	case r.Took < 0:
		return r, fmt.Errorf("a negative duration")
	}
	return r, nil
}

// isMethod tells a method from what port scanners and TLS clients send in its
// place.
func isMethod(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 32
}
