package plugin

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"

	"github.com/drawbridge-go/drawbridge/lockcheck"
)

func TestPluginRunsErrorsAndWhatIsNamed(t *testing.T) {
	build, err := register.GetPlugin("lockcheck")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		settings any
		want     int
		fails    bool
	}{
		{nil, len(lockcheck.Errors), false},
		{map[string]any{"also": []string{"lockorder", "lockdouble"}}, len(lockcheck.Errors) + 1, false},
		{map[string]any{"also": []string{"lockjaw"}}, 0, true},
	} {
		p, err := build(c.settings)
		if c.fails != (err != nil) {
			t.Errorf("%v: %v", c.settings, err)
		}
		if err != nil {
			continue
		}
		as, err := p.BuildAnalyzers()
		if err != nil || len(as) != c.want {
			t.Errorf("%v: %d analyzers, want %d (%v)", c.settings, len(as), c.want, err)
		}
	}
}
