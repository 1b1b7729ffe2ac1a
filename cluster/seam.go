package cluster

import (
	"errors"
	"time"
)

// Until the core has them.
var (
	ErrUpgrade   = errors.New("drawbridge: the context carries a read hold of this lock, which a write lock would wait for")
	ErrReentrant = errors.New("drawbridge: the context carries the write hold of this lock")
)

// SnapshotStatus stands for drawbridge.SnapshotStatus.
type SnapshotStatus struct {
	Version uint64
	Age     time.Duration
	Err     error
}
