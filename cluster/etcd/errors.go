package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
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

// unreachable is why there is no connection, or nil. The client's own requests wait for one, and when their time is over say
// no more than that: not that the address is wrong, nor that a certificate is.
func (e *Engine) unreachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := pb.NewMaintenanceClient(e.client.ActiveConnection()).Status(ctx, new(pb.StatusRequest), grpc.WaitForReady(false))
	if status.Code(err) == codes.Unavailable {
		return err
	}
	return nil // whatever else it is, the next request finds out
}

// explain adds to an error of a request whose time is over why there is no connection.
func (e *Engine) explain(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		if why := e.unreachable(context.WithoutCancel(ctx)); why != nil {
			return fmt.Errorf("%w: %w", err, why)
		}
	}
	return err
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
