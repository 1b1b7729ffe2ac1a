package drawbridge

// Striped reports whether rw counts its readers in stripes.
func Striped(rw *RWMutex) bool { return rw.core.state.Load()&striped != 0 }
