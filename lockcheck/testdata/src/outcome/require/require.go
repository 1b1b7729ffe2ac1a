// Package require has helpers that end a test, in the ways in which helpers do.
package require

import (
	"os"
	"reflect"
)

// TestingT is what the helpers need of a test.
type TestingT interface {
	Errorf(format string, args ...any)
	FailNow()
}

type helper interface{ Helper() }

func fail(t TestingT, message string) bool {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	t.Errorf(message)
	return false
}

func isNoError(t TestingT, err error) bool {
	if err != nil {
		return fail(t, err.Error())
	}
	return true
}

// NoError ends the test if there is an error.
func NoError(t TestingT, err error) {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	if isNoError(t, err) {
		return
	}
	t.FailNow()
}

// Positive ends the program if n is not: that says nothing of nil, true or false.
func Positive(n int) {
	if n <= 0 {
		os.Exit(1)
	}
}

// Equal compares what it is given in a way that is not followed.
func Equal(t TestingT, a, b any) {
	if !reflect.DeepEqual(a, b) {
		t.FailNow()
	}
}
