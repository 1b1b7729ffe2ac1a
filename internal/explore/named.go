//go:build explore

package explore

import "github.com/drawbridge-go/drawbridge/internal/explore/sched"

// Scenario is a program that is more than calls on one lock.
type Scenario struct {
	Name string
	Most int // preemptions that can be searched in reasonable time
	New  func() sched.World
}

// Scenarios returns them all.
func Scenarios() []Scenario { return nil }

// Named returns larger programs, each for a fault that was found in a lock of
// some language.
func Named() []string { return nil }
