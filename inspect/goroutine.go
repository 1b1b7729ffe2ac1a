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

// presence is what is known of a goroutine that is there.
type presence struct {
	by   uint64 // who started it, 0 if that is not known
	runs bool   // or is about to: it may have come to its end as well
}

// liveGoroutines returns all goroutines, or nil if they are too many. It stops
// the world for as long as it takes to write all their stacks.
func liveGoroutines() map[uint64]presence {
	text := allStacks()
	if text == nil {
		return nil
	}
	live := make(map[uint64]presence)
	for _, stack := range bytes.Split(text, []byte("\n\n")) {
		if id, ok := parseGoroutine(stack); ok {
			_, state, _ := bytes.Cut(stack, []byte("["))
			live[id] = presence{startedBy(stack), bytes.HasPrefix(state, []byte("run"))} // running, runnable
		}
	}
	return live
}

// startedBy reads the end of a goroutine's stack: "created by main.f in goroutine
// 7", and the line of code below.
func startedBy(stack []byte) uint64 {
	last := stack[max(bytes.LastIndex(stack, []byte("\ncreated by ")), 0):]
	_, digits, _ := bytes.Cut(last, []byte(" in goroutine "))
	digits, _, _ = bytes.Cut(digits, []byte("\n"))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return id
}
