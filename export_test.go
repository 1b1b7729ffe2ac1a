package drawbridge

// Striped reports whether rw counts its readers in stripes.
func Striped(rw *RWMutex) bool { return rw.core.state.Load()&striped != 0 }

// RaceEnabled says that every step is slower by far.
const RaceEnabled = raceEnabled
