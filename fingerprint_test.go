//go:build explore

package drawbridge

import (
	"reflect"
	"slices"
	"testing"
)

// The search prunes by the fingerprint of a lock: a field that it leaves out
// would hide schedules.
func TestFingerprintIsComplete(t *testing.T) {
	for _, known := range []struct {
		of     any
		fields []string
	}{
		{core{}, []string{"state", "mu", "q", "stripes"}},
		{stripe{}, []string{"readers", "_"}},
		{queue{}, []string{"policy", "readers", "upgradables", "writers", "drainer", "tickets", "watch"}},
		{watch{}, []string{"observers", "callers", "kept", "seq", "writer", "upgradable"}},
		{holding{}, []string{"hold", "since"}},
		{list{}, []string{"first", "last", "len"}},
		{waiter{}, []string{"next", "prev", "after", "granted", "signalled", "upgrade", "crowd", "mode", "calls", "taken", "ticket", "since", "seq", "parking"}},
		{parking{}, []string{"sleepers", "cancellable", "done"}},
		{sleeper{}, []string{"owner", "asleep", "wakes"}},
	} {
		var fields []string
		for i := range reflect.TypeOf(known.of).NumField() {
			fields = append(fields, reflect.TypeOf(known.of).Field(i).Name)
		}
		if !slices.Equal(fields, known.fields) {
			t.Errorf("%T has the fields %q; look at them in its fingerprint and list them here", known.of, fields)
		}
	}
}
