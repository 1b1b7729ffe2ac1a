package etcd

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// final reports whether trying again cannot help: the answer is known, or etcd understood the request and refuses it.
func final(err error) bool {
	for _, known := range []error{cluster.ErrBusy, cluster.ErrLost, cluster.ErrClosed} {
		if errors.Is(err, known) {
			return true
		}
	}
	if errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrAuthOldRevision) {
		return false // the client gets itself a new token
	}
	code := codes.Unknown
	var ee rpctypes.EtcdError
	switch {
	case errors.Is(err, clientv3.ErrNoAvailableEndpoints):
		return true
	case errors.As(err, &ee):
		code = ee.Code()
	default:
		code = status.Code(err)
	}
	switch code {
	case codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument, codes.Unimplemented:
		return true
	}
	return false
}

// pause waits a little longer each time.
func pause(ctx context.Context, wait *time.Duration) {
	*wait = min(max(2**wait, 20*time.Millisecond), time.Second)
	select {
	case <-ctx.Done():
	case <-time.After(*wait):
	}
}

// raise moves a to v unless it is further on already.
func raise(a *atomic.Int64, v int64) {
	for {
		old := a.Load()
		if v <= old || a.CompareAndSwap(old, v) {
			return
		}
	}
}
