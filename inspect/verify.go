package inspect

import (
	"fmt"
	"os"
	"sync"
)

// VerifyTestMain runs the tests of a package while [Detect] looks for misuse,
// and exits with their code, or with 1 if there was any. The misuse is printed
// to standard error; notes are printed and do not count.
//
//	func TestMain(m *testing.M) { inspect.VerifyTestMain(m) }
func VerifyTestMain(m interface{ Run() int }) {
	os.Exit(verify(m.Run))
}

// verify returns the exit code for tests that run returns the code of.
func verify(run func() int) int {
	var mu sync.Mutex
	misuses := 0
	stop := Detect{Func: func(m Misuse) {
		mu.Lock()
		defer mu.Unlock()
		if !m.Note {
			misuses++
		}
		fmt.Fprintln(os.Stderr, m)
	}}.Start()
	code := run()
	stop()
	mu.Lock()
	defer mu.Unlock()
	if misuses > 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "drawbridge: the tests passed, but %d misuses of locks were found\n", misuses)
		code = 1
	}
	return code
}

// Verify looks for misuse until the test t ends, and fails it for each. It sees
// the locks of the whole process, so it is not for tests that run in parallel
// with others.
func Verify(t interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}) {
	t.Helper()
	t.Cleanup(Detect{Func: func(m Misuse) {
		if m.Note {
			t.Logf("%s", m)
		} else {
			t.Errorf("%s", m)
		}
	}}.Start())
}
