package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster/postgres"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

func TestSuiteInTransactions(t *testing.T) {
	suite(t, shared(t), shared(t), postgres.Options{Xact: true})
}

func TestSuiteBehindTransactionPooler(t *testing.T) {
	suite(t, shared(t), pooler(t, shared(t), "transaction"), postgres.Options{Xact: true})
}

func TestSuiteBehindSessionPooler(t *testing.T) {
	suite(t, shared(t), pooler(t, shared(t), "session"), postgres.Options{Xact: true})
}

// https://github.com/golang-migrate/migrate/issues/168: behind a pooler the unlock goes to another session than the lock.
// It is found before a lock is taken, and the error says what to do.
func TestPoolerIsRefused(t *testing.T) {
	for _, mode := range []string{"session", "transaction"} {
		for _, settings := range []string{"refused", "ignored"} {
			t.Run(mode+", settings "+settings, func(t *testing.T) {
				url := pooler(t, shared(t), mode)
				if settings == "ignored" {
					url = lenient(t, shared(t), mode)
				}
				l := rig.NewLocker(t, machine(t, url, postgres.Options{}), 2*time.Second)
				for what, call := range map[string]func(context.Context, string) error{
					"Lock":    func(ctx context.Context, name string) error { _, err := l.Lock(ctx, name); return err },
					"TryLock": func(ctx context.Context, name string) error { _, err := l.TryLock(ctx, name); return err },
				} {
					err := call(rig.Within(t, 10*time.Second), rig.Fresh(t))
					if err == nil || !strings.Contains(err.Error(), "Options.Xact") {
						t.Errorf("%s behind a pooler: %v", what, err)
					}
				}
			})
		}
	}
}
