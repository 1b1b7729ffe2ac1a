package inspect

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutine returns the number of the calling goroutine. The only way to it
// that is documented is the first line of its stack, "goroutine 18 [running]:",
// which costs about a microsecond; so it is asked for only while somebody
// traces or looks for misuse. It is 0 if the line does not look like that.
func goroutine() uint64 {
	var buf [64]byte
	id, _ := parseGoroutine(buf[:runtime.Stack(buf[:], false)])
	return id
}

// parseGoroutine reads the first line of a goroutine's stack.
func parseGoroutine(stack []byte) (id uint64, ok bool) {
	rest, ok := bytes.CutPrefix(stack, []byte("goroutine "))
	if !ok {
		return 0, false
	}
	digits, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(string(digits), 10, 64)
	return id, err == nil && id != 0
}

// liveGoroutines returns the numbers of all goroutines. It stops the world for
// as long as it takes to write all their stacks.
func liveGoroutines() map[uint64]bool {
	buf := make([]byte, 1<<16)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < 1<<26 {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	live := make(map[uint64]bool)
	for _, stack := range bytes.Split(buf[:n], []byte("\n\n")) {
		if id, ok := parseGoroutine(stack); ok {
			live[id] = true
		}
	}
	return live
}
