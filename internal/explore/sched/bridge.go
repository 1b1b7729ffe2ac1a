package sched

// Core is what a lock shows of itself to the explorer, and to nobody else. The
// locks set it when they are built with the tag explore.
var Core struct {
	// Fingerprint adds all that actors can share of a lock to h.
	Fingerprint func(lock any, h *Hash)

	// Picture returns who is inside and who waits, without a step.
	Picture func(lock any) Picture

	// Window reports whether a writer has been woken to compete and has not
	// run yet.
	Window func(lock any) bool

	// Flags returns which flags of the state do not agree with the queue, or "".
	Flags func(lock any) string

	// Idle returns what is left in a lock that nobody uses, or "".
	Idle func(lock any) string

	// Leftover reports whether a waiter of an actor is still in use.
	Leftover func(lock any, actor int) bool

	// Start brings a new lock into a state by its name, and reports whether
	// there is one of that name.
	Start func(lock any, name string) bool
}

// Picture is a lock at one moment.
type Picture struct {
	Readers                        int
	Writer, Upgradable             bool
	WaitingReaders, WaitingWriters int
}
