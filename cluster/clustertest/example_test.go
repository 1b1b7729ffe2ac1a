package clustertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
	"github.com/drawbridge-go/drawbridge/cluster/mem"
)

// The body of an engine's test.
func ExampleRun() {
	_ = func(t *testing.T) {
		server := mem.New()
		clustertest.Run(t, clustertest.Harness{
			Engine: func(testing.TB) cluster.Engine { return server.Peer() },
			Drop:   func(_ testing.TB, e cluster.Engine) { e.(*mem.Engine).Revoke() },
			Cut: func(_ testing.TB, e cluster.Engine, off bool) {
				e.(*mem.Engine).SetLink(mem.Link{DropRequests: off, DropReplies: off})
			},
			DeleteValue: func(_ testing.TB, name string) { server.Delete(name) },
			CorruptValue: func(t testing.TB, name string) {
				if _, err := server.Store(context.Background(), name, []byte("{"), cluster.Condition{}); err != nil {
					t.Fatal(err)
				}
			},
			TTL:      10 * time.Second,
			Takeover: time.Second,
		})
	}
}
