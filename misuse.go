package drawbridge

import "context"

// mustContext panics for a nil context, before anything is touched.
func mustContext(ctx context.Context) {
	if ctx == nil {
		panic("drawbridge: nil Context; use context.Background or the plain method")
	}
}
