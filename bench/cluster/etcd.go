package main

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
)

func onEtcd(_ context.Context, url string) (system, error) {
	config, o, err := etcd.Config(url)
	if err != nil {
		return system{}, err
	}
	if o.Prefix == "" {
		o.Prefix = "drawbridge-bench/"
	}
	config.Logger = zap.NewNop()
	dial := func(sent *sent) (*clientv3.Client, error) {
		config := config
		config.DialOptions = []grpc.DialOption{grpc.WithStatsHandler(sent)}
		return clientv3.New(config)
	}
	s := system{name: "etcd", url: url, watches: true, apart: 1000}
	s.connect = func(_ context.Context, sent *sent) (engine, error) {
		c, err := dial(sent)
		if err != nil {
			return nil, err
		}
		return closing{etcd.New(c, o), c}, nil
	}
	// theirs is a lock on a session, which take makes one of for each call, as its users do.
	theirs := func(name string, take func(context.Context, *concurrency.Session, string) (func(context.Context) error, error)) contender {
		return contender{name, func(ctx context.Context, sent *sent) (process, error) {
			c, err := dial(sent)
			if err != nil {
				return process{}, err
			}
			session, err := concurrency.NewSession(c, concurrency.WithTTL(int(ttl.Seconds())))
			if err != nil {
				c.Close()
				return process{}, err
			}
			return process{
				lock: func(ctx context.Context, name string) (func(context.Context) error, error) {
					return take(ctx, session, o.Prefix+name)
				},
				close: func() { session.Close(); c.Close() },
			}, nil
		}}
	}
	s.contenders = []contender{
		s.ours("drawbridge, to write", cluster.Write),
		s.ours("drawbridge, to read", cluster.Read),
		theirs("concurrency.Mutex", func(ctx context.Context, s *concurrency.Session, name string) (func(context.Context) error, error) {
			m := concurrency.NewMutex(s, name)
			return m.Unlock, m.Lock(ctx)
		}),
		theirs("recipe RWMutex, to write", func(_ context.Context, s *concurrency.Session, name string) (func(context.Context) error, error) {
			m := recipe.NewRWMutex(s, name)
			return func(context.Context) error { return m.Unlock() }, m.Lock()
		}),
		theirs("recipe RWMutex, to read", func(_ context.Context, s *concurrency.Session, name string) (func(context.Context) error, error) {
			m := recipe.NewRWMutex(s, name)
			return func(context.Context) error { return m.RUnlock() }, m.RLock()
		}),
	}
	return s, nil
}

// closing closes the client with the engine.
type closing struct {
	*etcd.Engine
	client *clientv3.Client
}

func (c closing) Close() error { return c.client.Close() }

// sent is a stats.Handler of gRPC.

func (s *sent) HandleRPC(_ context.Context, what stats.RPCStats) {
	out, ok := what.(*stats.OutPayload)
	if !ok {
		return
	}
	switch m := out.Payload.(type) {
	case *pb.TxnRequest, *pb.RangeRequest, *pb.PutRequest, *pb.DeleteRangeRequest:
		s.requests.Add(1)
	case *pb.WatchRequest:
		if m.GetCreateRequest() != nil {
			s.watches.Add(1)
		}
	}
}

func (*sent) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*sent) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*sent) HandleConn(context.Context, stats.ConnStats)                       {}
