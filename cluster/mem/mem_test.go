package mem_test

import (
	"context"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
	"github.com/drawbridge-go/drawbridge/cluster/mem"
)

func TestSuite(t *testing.T) {
	for name, limits := range map[string]cluster.Limits{
		"EntryPerCall": {},
		"Shared":       {Shared: true, Claims: 16},
		"SharedOfTwo":  {Shared: true, Claims: 8},
	} {
		t.Run(name, func(t *testing.T) {
			var server *mem.Engine // of the running test
			var owner testing.TB
			on := func(t testing.TB) *mem.Engine {
				if owner != t {
					owner, server = t, mem.New()
					server.Limits = limits
				}
				return server
			}
			clustertest.Run(t, clustertest.Harness{
				Engine: func(t testing.TB) cluster.Engine { return on(t).Peer() },
				Drop:   func(t testing.TB, e cluster.Engine) { e.(*mem.Engine).Revoke() },
				Cut: func(t testing.TB, e cluster.Engine, off bool) {
					e.(*mem.Engine).SetLink(mem.Link{DropRequests: off, DropReplies: off})
				},
				DeleteValue: func(t testing.TB, name string) { on(t).Delete(name) },
				CorruptValue: func(t testing.TB, name string) {
					if _, err := on(t).Store(context.Background(), name, []byte("{"), cluster.Condition{}); err != nil {
						t.Fatal(err)
					}
				},
				TTL:      10 * time.Second,
				Takeover: time.Second,
				Fake:     true,
			})
		})
	}
}
