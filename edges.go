package drawbridge

import "unsafe"

// The edges that the lock promises, at three addresses of its own: what
// writers did comes before whoever enters later, what readers did before
// later writers, what upgradable readers did also before later upgradable
// ones. See race_on.go.

func (c *core) raceEnter(m Mode) {
	raceAcquire(unsafe.Pointer(&c.state))
	switch m {
	case Upgradable:
		raceAcquire(unsafe.Pointer(&c.q))
	case Write:
		raceAcquire(unsafe.Pointer(&c.mu))
	}
}

func (c *core) raceLeave(ch change) {
	switch ch {
	case readerLeaves:
		raceReleaseMerge(unsafe.Pointer(&c.mu))
	case upgradableLeaves:
		raceReleaseMerge(unsafe.Pointer(&c.mu))
		raceReleaseMerge(unsafe.Pointer(&c.q))
	default:
		raceRelease(unsafe.Pointer(&c.state))
	}
}
