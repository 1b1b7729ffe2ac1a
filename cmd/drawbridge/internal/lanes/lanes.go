// Package lanes draws what the goroutines of an experiment did, one lane for
// each over time: in a terminal with [Picture.Text], as a picture with [SVG].
// Waiting, reading and writing differ in shape, so that no drawing depends on
// colour.
package lanes

import "time"

// Activity is what a goroutine does with the lock.
type Activity uint8

const (
	Idle    Activity = iota
	Waiting          // asked for the lock and does not have it
	Reading          // holds it to read
	Writing          // holds it to write
)

// String returns the activity in a word.
func (a Activity) String() string {
	return [...]string{"idle", "waiting", "reading", "writing"}[a]
}

// Segment is one activity from beginning to end, counted from the beginning
// of the experiment.
type Segment struct {
	Activity Activity
	From, To time.Duration
}

// Lane is one goroutine. Its segments are in order of time and do not overlap.
type Lane struct {
	Name     string
	Segments []Segment
}

// Picture is the lanes of one lock from the beginning to Until.
type Picture struct {
	Title   string        // the lock
	Outcome string        // what became of the writer
	Until   time.Duration // end of the time axis
	Mark    time.Duration // when the writer asks; 0 for no mark
	Lanes   []Lane
	Hidden  string // what was left out of Lanes, in words, if anything
}

// step returns the distance of the marks on a time axis: a round figure that
// makes between three and nine of them.
func step(until time.Duration) time.Duration {
	for unit := time.Microsecond; ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if until/(n*unit) < 9 {
				return n * unit
			}
		}
	}
}
