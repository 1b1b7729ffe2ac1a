package accesslog_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/accesslog"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/testlog"
)

var update = flag.Bool("update", false, "write testdata anew")

const seed, lines = 20240312, 200

// logs are the files in testdata, all made by package testlog.
var logs = []struct {
	file   string
	format testlog.Format
}{
	{"common.log", testlog.Common},
	{"combined.log.gz", testlog.Combined},
	{"traefik.log", testlog.Traefik},
	{"caddy.json.gz", testlog.CaddyJSON},
	{"traefik.json", testlog.TraefikJSON},
}

// TestReadReturnsWhatWasWritten reads each file of testdata and compares every
// request with the one that the generator wrote.
func TestReadReturnsWhatWasWritten(t *testing.T) {
	for _, l := range logs {
		t.Run(l.file, func(t *testing.T) {
			want := testlog.Requests(seed, lines, l.format)
			var text bytes.Buffer
			bad, err := testlog.Write(&text, seed, want, l.format)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", l.file)
			if *update {
				writeFile(t, path, text.Bytes())
			}
			if got := unpacked(t, path); !bytes.Equal(got, text.Bytes()) {
				t.Errorf("%s is not what package testlog makes: run go test -update", path)
			}

			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			log, err := accesslog.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			// Requests that arrived together may stand in any order.
			slices.SortStableFunc(log.Requests, byTime)
			slices.SortStableFunc(want, byTime)
			if len(log.Requests) != len(want) {
				t.Fatalf("%d requests, want %d; left out: %v", len(log.Requests), len(want), log.First)
			}
			for i := range want {
				if got := log.Requests[i]; !same(got, want[i]) {
					t.Errorf("request %d: got %+v, want %+v", i, got, want[i])
				}
			}
			if log.Malformed != bad || log.Late == 0 {
				t.Errorf("%d malformed and %d late, want %d and more than none", log.Malformed, log.Late, bad)
			}
		})
	}
}

func byTime(a, b accesslog.Request) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Method, b.Method), cmp.Compare(a.Took, b.Took))
}

// same compares the instants, whatever the zone they are written in.
func same(a, b accesslog.Request) bool {
	a.At, b.At = a.At.UTC(), b.At.UTC()
	return a == b
}

func writeFile(t *testing.T, path string, text []byte) {
	if strings.HasSuffix(path, ".gz") {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(text)
		z.Close()
		text = packed.Bytes()
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func unpacked(t *testing.T, path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if text, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

func TestEveryFormOfALine(t *testing.T) {
	at := time.Date(2024, 3, 12, 8, 0, 0, 0, time.UTC)
	untimed := func(method string) accesslog.Request { return accesslog.Request{At: at, Method: method} }
	timed := func(d time.Duration) accesslog.Request {
		return accesslog.Request{At: at, Method: "PUT", Took: d, Timed: true}
	}
	for _, test := range []struct {
		line string
		want accesslog.Request
	}{
		{`::1 - frank [12/Mar/2024:10:00:00 +0200] "GET / HTTP/1.0" 200 2326`, untimed("GET")},
		{`h - a b [12/Mar/2024:08:00:00 +0000] "HEAD /\" 500 HTTP/1.0" 304 -`, untimed("HEAD")},
		{`h - - [12/Mar/2024:08:00:00 +0000] "PUT / HTTP/1.1" 200 1 "-" "-" 7 "r" "u" 250ms`, timed(250 * time.Millisecond)},
		{`{"ts":1710230400.5,"request":{"method":"PUT"},"duration":0.5}`, timed(500 * time.Millisecond)},
		{`{"ts":1710230400500,"request":{"method":"PUT"},"duration":"500ms"}`, timed(500 * time.Millisecond)},
		{`{"ts":1710230400000000000,"request":{"method":"PUT"},"duration":0}`, timed(0)},
		{`{"ts":"2024-03-12T08:00:00.000Z","request":{"method":"GET"}}`, untimed("GET")},
		{`{"ts":"2024/03/12 08:00:00","request":{"method":"GET"}}`, untimed("GET")},
		{`{"StartUTC":"2024-03-12T08:00:00Z","RequestMethod":"PUT","Duration":1500000,"time":"2024-03-12T09:00:00Z"}`, timed(1500 * time.Microsecond)},
		{`{"time":"2024-03-12T08:00:01Z","RequestMethod":"PUT","Duration":1000000000}`, timed(time.Second)},
		{`{"time":"2024-03-12T08:00:00Z","method":"GET"}`, untimed("GET")},
	} {
		log, err := accesslog.Read(strings.NewReader(test.line))
		if err != nil {
			t.Errorf("%s\n%v", test.line, err)
		} else if !same(log.Requests[0], test.want) {
			t.Errorf("%s\n got %+v\nwant %+v", test.line, log.Requests[0], test.want)
		}
	}
}

// TestNoUsableLineIsAnError has files without one request. Each message says
// what is wrong, and none carries a control character to the terminal.
func TestNoUsableLineIsAnError(t *testing.T) {
	const request = ` - - [12/Mar/2024:08:00:00 +0000] "GET / HTTP/1.1" 200 1`
	for _, test := range []struct{ text, want string }{
		{"", "empty"},
		{"\n \r\n\n", "empty"},
		{"hello\nworld\n", "line 1: no time in brackets"},
		{"\n\x1b[2Jx\n", `line 2: no time in brackets: "\x1b[2Jx"`},
		{`h - - [yesterday] "GET / HTTP/1.1" 200 1`, "not of the form"},
		{`h - - [12/Mar/2024:08:00:00 +0000] "GET / HTTP/1.1`, "quotes do not end"},
		{`h - - [12/Mar/2024:08:00:00 +0000] "GET / HTTP/1.1"`, "no status"},
		{`h - - [12/Mar/2024:08:00:00 +0000] "\x16\x03 / HTTP/1.1" 400 1`, "no HTTP method"},
		{`h - - [12/Mar/0024:08:00:00 +0000] "GET / HTTP/1.1" 400 1`, "year 24"},
		{`{"ts":1,`, "not JSON"},
		{`{"ts":1}`, "no HTTP method"},
		{`{"ts":1,"request":"GET / HTTP/1.1"}`, "the field request"},
		{`{"request":{"method":"GET"}}`, "no time"},
		{`{"ts":1e300,"request":{"method":"GET"}}`, "no time"},
		{`{"ts":2,"request":{"method":"GET"},"duration":-1}`, "negative"},
		{strings.Repeat("x", 70_000) + request, "longer than 64 KiB"},
	} {
		_, err := accesslog.Read(strings.NewReader(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%.60q: error %v, want one about %q", test.text, err, test.want)
		}
	}
}

// TestLongLineHidesNoRequest has a line that does not fit the buffer between
// two requests, with what looks like a request at its end.
func TestLongLineHidesNoRequest(t *testing.T) {
	const request = `h - - [12/Mar/2024:08:00:00 +0000] "GET / HTTP/1.1" 200 1`
	log, err := accesslog.Read(strings.NewReader("\uFEFF" + request + "\r\n" + strings.Repeat("x", 200_000) + request + "\n" + request))
	if err != nil || len(log.Requests) != 2 || log.Malformed != 1 {
		t.Errorf("%d requests, %d malformed, error %v; want 2, 1 and none", len(log.Requests), log.Malformed, err)
	}
}

// TestBrokenInputIsNotTakenForTheEnd cuts a packed log off and lets a file
// fail in the middle: half a log must not pass for all of it.
func TestBrokenInputIsNotTakenForTheEnd(t *testing.T) {
	packed, err := os.ReadFile("testdata/combined.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"cut off":     bytes.NewReader(packed[:len(packed)/2]),
		"header only": strings.NewReader("\x1f\x8b"),
		"failing":     io.MultiReader(strings.NewReader("x\n"), iotest.ErrReader(io.ErrClosedPipe)),
	} {
		if _, err := accesslog.Read(r); err == nil || strings.Contains(err.Error(), "no line of") {
			t.Errorf("%s: error %v, want the reader's", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, l := range logs {
		text, err := os.ReadFile(filepath.Join("testdata", l.file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := accesslog.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		for i, r := range log.Requests {
			if r.Took < 0 || i > 0 && r.At.Before(log.Requests[i-1].At) {
				t.Fatalf("request %d: %+v", i, r)
			}
		}
	})
}
