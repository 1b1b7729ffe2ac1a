package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// binary is the command, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "drawbridge")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "drawbridge")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	code := 2
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

type output struct {
	out, err string
	status   int
}

func drawbridge(t *testing.T, stdin io.Reader, args ...string) output {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, args...)
	var out, errs bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = stdin, &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return output{out.String(), errs.String(), command.ProcessState.ExitCode()}
}

// TestBadInputIsOneLineAndStatus2 gives every command what it cannot work
// with.
func TestBadInputIsOneLineAndStatus2(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty, prose := write("empty.log", ""), write("prose.log", "\x1b]0;title\x07 hello\nworld\n")
	gz := write("broken.log.gz", "\x1f\x8bxx")
	good := filepath.Join("internal", "accesslog", "testdata", "common.log")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"bogus"}, "bogus"},
		{[]string{"lab", "--bogus"}, "unknown flag --bogus"},
		{[]string{"lab", "extra"}, "unexpected argument extra"},
		{[]string{"lab", "--policy", "fairest"}, `unknown policy "fairest": use one or more of Balanced, PreferWriters`},
		{[]string{"lab", "--policy", "\x1b[31mred\n"}, `unknown policy "\x1b[31mred\n"`},
		{[]string{"lab", "--hold", "-5ms"}, "not -5ms"},
		{[]string{"lab", "--hold", "soon"}, "soon"},
		{[]string{"lab", "--every=-1s"}, "-1s"},
		{[]string{"lab", "--deadline", "0s"}, "not 0s"},
		{[]string{"lab", "--readers", "0"}, "not 0"},
		{[]string{"lab", "--readers", "ten"}, "ten"},
		{[]string{"lab", "--writers", "-1"}, "not -1"},
		{[]string{"lab", "--svg", filepath.Join(dir, "missing", "lab.svg")}, "no such file or directory"},
		{[]string{"lab", "--svg", dir}, "is a directory"},
		{[]string{"lab", "--engine", "redis://user:secret@host"}, "as etcd://HOST:PORT"},
		{[]string{"lab", "--engine", "etcd://host", "--policy", "FIFO"}, "in order of arrival"},
		{[]string{"lab", "--engine", "etcd://host", "--readers", "100"}, "there can be 100, not 101"},
		{[]string{"lab", "--engine", "postgres://user:secret@127.0.0.1:1/db?sslmode=disable"}, "connect"},
		{[]string{"replay"}, "<file>"},
		{[]string{"replay", filepath.Join(dir, "missing.log")}, "no such file or directory"},
		{[]string{"replay", dir}, "is a directory"},
		{[]string{"replay", empty}, "the log is empty"},
		{[]string{"replay", prose}, `no line of 2 is a request in common, combined or JSON form; line 1: no time in brackets: "\x1b]0;title\a hello"`},
		{[]string{"replay", gz}, "gz"},
		{[]string{"replay", "--speed", "-1", good}, "--speed=-1"},
		{[]string{"replay", "--speed", "NaN", good}, "--speed=NaN"},
		{[]string{"replay", "--hold=-1ms", good}, "--hold=-1ms"},
		{[]string{"replay", "--refresh=-30s", good}, "--refresh=-30s"},
		{[]string{"replay", "--policy", "x", good}, `unknown policy "x"`},
		{[]string{"replay", "-"}, "standard input: the log is empty"},
		{[]string{"verify", "extra"}, "unexpected argument extra"},
		{[]string{"vet", "--bogus"}, "unknown flag --bogus"},
		{[]string{"vet", "--depth", "deep"}, "deep"},
		{[]string{"vet", "--only", "\x1b[31m"}, `there is no analyzer "\x1b[31m"; there are ctxlockerr, `},
		{[]string{"vet", "--json", "--sarif"}, "--json and --sarif"},
		{[]string{"vet", "--write-baseline"}, "--baseline FILE"},
		{[]string{"vet", "--fix"}, "--only ctxlock"},
		{[]string{"locks"}, `expected one of "ls"`},
		{[]string{"locks", "ls"}, "--engine or in DRAWBRIDGE_ENGINE"},
		{[]string{"locks", "ls", "--engine", "redis://user:secret@host"}, "as etcd://HOST:PORT"},
		{[]string{"locks", "ls", "--engine", "etcd://user:secret@"}, "an empty host"},
		{[]string{"locks", "ls", "--engine", "etcd://user:secret%zz@host"}, "a bad escape in the password"},
		{[]string{"locks", "ls", "--engine", "postgres://user:secret@host:port/"}, "cannot be read"},
		{[]string{"locks", "ls", "--engine", "postgres://user:secret@127.0.0.1:1/db?sslmode=disable"}, "connect"},
		{[]string{"locks", "ls", "--engine", "etcd://user:secret@127.0.0.1:1", "--timeout", "300ms"}, "no answer from the engine within 300ms"},
		{[]string{"locks", "ls", "--engine", "etcd://host", "--timeout", "0s"}, "more than 0s"},
		{[]string{"locks", "ls", "a", "postgres://user:my secret@host/db"}, "unexpected argument postgres://…host/db"},
		{[]string{"locks", "ls", "a", "postgres://host/db?password=secret"}, "unexpected argument postgres://host/db?password=…"},
		{[]string{"locks", "show"}, "<name>"},
		{[]string{"locks", "show", "", "--engine", "etcd://host"}, "a lock name is 1 to 1,024 bytes"},
		{[]string{"locks", "release", "a", "--engine", "etcd://host"}, "--token"},
		{[]string{"locks", "release", "a", "--token", "last", "--engine", "etcd://host"}, "last"},
		{[]string{"locks", "release", "a", "--token", "-3", "--engine", "etcd://host"}, "not -3"},
		{[]string{"locks", "prune", "--engine", "postgres://user:secret@127.0.0.1:1/db?sslmode=disable"}, "connect"},
		{[]string{"locks", "migrate", "--engine", "postgres://user:secret@127.0.0.1:1/db?sslmode=disable"}, "connect"},
		{[]string{"locks", "migrate", "--sql", "--engine", "etcd://user:secret@host"}, "needs no tables"},
		{[]string{"locks", "migrate", "--sql", "--engine", "postgres://user:secret@host/db?schema=My"}, "lower-case letters"},
		{[]string{"locks", "migrate", "--sql"}, "--engine or in DRAWBRIDGE_ENGINE"},
		{[]string{"migrate", "--bogus"}, "unknown flag --bogus"},
	} {
		got := drawbridge(t, nil, test.args...)
		line := strings.TrimSuffix(got.err, "\n")
		if got.status != 2 || !regexp.MustCompile("^drawbridge( [a-z]+)?: ").MatchString(line) || !strings.Contains(line, test.want) || strings.ContainsAny(line, "\n\x1b\a") || strings.Contains(line, "secret") {
			t.Errorf("%q: status %d and %q, want status 2 and one line with %q", test.args, got.status, got.err, test.want)
		}
		if got.out != "" {
			t.Errorf("%q wrote to standard output: %q", test.args, got.out)
		}
	}
}

func TestHelpHasAnExampleOfEveryCommand(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"lab", "--help"}, {"replay", "--help"}, {"verify", "--help"}, {"vet", "--help"}, {"migrate", "--help"},
		{"locks", "--help"}, {"locks", "ls", "--help"}, {"locks", "show", "--help"}, {"locks", "release", "--help"}, {"locks", "prune", "--help"}, {"locks", "migrate", "--help"}} {
		got := drawbridge(t, nil, args...)
		example := "drawbridge " + strings.Join(args[:max(0, len(args)-1)], " ")
		if got.status != 0 || got.err != "" || !strings.Contains(got.out, "Example") || strings.Count(got.out, example) < 2 {
			t.Errorf("%q: status %d, %q, and no example in\n%s", args, got.status, got.err, got.out)
		}
	}
}

// TestLab runs a short experiment in all three forms.
func TestLab(t *testing.T) {
	short := []string{"lab", "--hold", "10ms", "--deadline", "60ms", "--readers", "4", "--policy", "PreferReaders,sync.Mutex"}

	svg := filepath.Join(t.TempDir(), "lab.svg")
	text := drawbridge(t, nil, append(short, "--svg", svg)...)
	for _, want := range []string{
		"4 readers hold the lock for 10 ms at a time, over and over. After 22 ms a writer asks to write.",
		"drawbridge.RWMutex · PreferReaders  writer starved for 60 ms",
		"\nreader 4 ", "\nwriter ", "┝━", "··",
		"lock                policy         peak readers",
		"\nsync.Mutex          one at a time             1 ",
	} {
		if !strings.Contains(text.out, want) {
			t.Errorf("the output lacks %q:\n%s", want, text.out)
		}
	}
	if text.status != 0 || text.err != "" || strings.Contains(text.out, "\x1b") {
		t.Errorf("piped: status %d, %q, colours: %t", text.status, text.err, strings.Contains(text.out, "\x1b"))
	}
	if drawn, err := os.ReadFile(svg); err != nil || !strings.Contains(string(drawn), "writer starved for 60 ms") {
		t.Errorf("the picture lacks the starved writer, error %v", err)
	}

	var decoded struct {
		DeadlineMS float64 `json:"deadline_ms"`
		Locks      []struct {
			Lock, Policy string
			PeakReaders  int `json:"peak_readers"`
			Reads        int
			Writes       []struct {
				WaitedMS float64 `json:"waited_ms"`
				Starved  bool
			}
			Lanes []struct {
				Name     string
				Segments []struct {
					Activity string
					FromMS   float64 `json:"from_ms"`
					ToMS     float64 `json:"to_ms"`
				}
			}
		}
	}
	got := drawbridge(t, nil, append(short, "--json")...)
	if err := json.Unmarshal([]byte(got.out), &decoded); err != nil {
		t.Fatalf("%v in %s", err, got.out)
	}
	if decoded.DeadlineMS != 60 || len(decoded.Locks) != 2 {
		t.Fatalf("deadline %g, %d locks", decoded.DeadlineMS, len(decoded.Locks))
	}
	starved, mutex := decoded.Locks[0], decoded.Locks[1]
	if w := starved.Writes; starved.Policy != "PreferReaders" || starved.PeakReaders != 4 || len(w) != 1 || !w[0].Starved || w[0].WaitedMS < 60 {
		t.Errorf("%s: peak %d, writes %+v; want 4, and one starved for 60 ms", starved.Policy, starved.PeakReaders, w)
	}
	if mutex.PeakReaders != 1 || len(mutex.Lanes) != 5 || mutex.Lanes[0].Segments[0].Activity != "reading" || mutex.Reads == 0 {
		t.Errorf("%s: peak %d, %d lanes, %d reads", mutex.Lock, mutex.PeakReaders, len(mutex.Lanes), mutex.Reads)
	}
}

// TestReplayReadsEveryForm plays the made logs, by name and from standard
// input.
func TestReplayReadsEveryForm(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join("internal", "accesslog", "testdata", "*.*"))
	if err != nil || len(logs) < 5 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []struct {
			name  string
			stdin io.Reader
		}{{log, nil}, {"-", bytes.NewReader(text)}} {
			got := drawbridge(t, from.stdin, "replay", "--speed", "50000", "--refresh", "10m", "--deadline", "100ms", from.name)
			if got.status != 0 || got.err != "" {
				t.Errorf("%s as %s: status %d, %q", log, from.name, got.status, got.err)
			}
			for _, want := range []string{
				"200 requests in ", "A rewrite every 10m0s adds ", "stood out of order", "Lines that are no request and were left out: 5",
				"line 41: no HTTP method: ", "Played 50000 times as fast", "drawbridge.RWMutex  FIFO", "write p50", "busy",
			} {
				if !strings.Contains(got.out, want) {
					t.Errorf("%s as %s: the output lacks %q:\n%s", log, from.name, want, got.out)
				}
			}
		}
	}
}

// TestReplayRealLog plays the log that DRAWBRIDGE_LOG names, at the speed that
// is chosen for it.
func TestReplayRealLog(t *testing.T) {
	log := os.Getenv("DRAWBRIDGE_LOG")
	if log == "" {
		t.Skip("no real log: set DRAWBRIDGE_LOG to an access log to play one")
	}
	got := drawbridge(t, nil, "replay", log)
	if got.status != 0 || got.err != "" {
		t.Fatalf("status %d, %q", got.status, got.err)
	}
	t.Log("\n" + got.out)
	rows := regexp.MustCompile(`(?m)^drawbridge\.RWMutex .* \d+ %$`).FindAllString(got.out, -1)
	if len(rows) != 4 {
		t.Errorf("%d rows for 4 policies", len(rows))
	}
}

func TestVerifyFindsEveryPromiseKept(t *testing.T) {
	got := drawbridge(t, nil, "verify")
	if got.status != 0 || strings.Count("\n"+got.out, "\nPASS  ") != 14 || !strings.HasSuffix(got.out, "All 14 promises hold.\n") {
		t.Errorf("status %d\n%s%s", got.status, got.out, got.err)
	}
}

// TestTerminal looks at the output as a terminal of 60 columns gets it, and at
// the progress bar.
func TestTerminal(t *testing.T) {
	lab := []string{"lab", "--deadline", "10ms", "--policy", "Balanced"}
	if out := onTerminal(t, []string{"TERM=xterm-256color"}, lab...); !strings.Contains(out, "\x1b[36m┝") {
		t.Errorf("there is no colour:\n%q", out)
	}
	out := onTerminal(t, []string{"TERM=xterm-256color", "NO_COLOR=1"}, lab...)
	if strings.Contains(out, "\x1b") {
		t.Errorf("NO_COLOR is not honoured:\n%q", out)
	}
	lane := regexp.MustCompile(`(?m)^reader 1 .*$`).FindString(strings.ReplaceAll(out, "\r", ""))
	if n := len([]rune(lane)); n < 50 || n > 60 {
		t.Errorf("a lane has %d columns of 60: %q", n, lane)
	}
	log := filepath.Join("internal", "accesslog", "testdata", "caddy.json.gz")
	if out := onTerminal(t, []string{"TERM=xterm"}, "replay", "--speed", "20000", log); !strings.Contains(out, "playing") {
		t.Errorf("there is no progress bar:\n%q", out)
	}
}

func onTerminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, args...)
	command.Env = env
	terminal, err := pty.StartWithSize(command, &pty.Winsize{Rows: 24, Cols: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	out, _ := io.ReadAll(terminal) // ends with an error where the other side closes
	if err := command.Wait(); err != nil {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}
