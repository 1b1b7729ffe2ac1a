package drawbridge

import "time"

// moment is a reading of the monotonic clock, which costs half of what time.Now
// does. None is 0.
type moment time.Duration

// age is how long ago m was.
func (m moment) age() time.Duration { return time.Duration(clock() - m) }
