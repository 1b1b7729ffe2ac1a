// Package carrying has the key under which a context carries what package
// cluster holds. It is here, and not there, so that drawbridge.WithoutHolds can
// hide it.
package carrying

// Key is that key.
type Key struct{}
