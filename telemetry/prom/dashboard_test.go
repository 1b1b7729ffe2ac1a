package prom

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestDashboardAsksForWhatIsCollected: every metric and label of the dashboard
// is one of the collector's.
func TestDashboardAsksForWhatIsCollected(t *testing.T) {
	data, err := os.ReadFile("../grafana/drawbridge.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	ch := make(chan *prometheus.Desc, 100)
	NewCollector().Describe(ch)
	close(ch)
	known := map[string]bool{}
	name := regexp.MustCompile(`fqName: "([^"]*)"`)
	for d := range ch {
		n := name.FindStringSubmatch(d.String())[1]
		known[n] = true
		if strings.HasSuffix(n, "_seconds") {
			known[n+"_bucket"], known[n+"_count"], known[n+"_sum"] = true, true, true
		}
	}
	metric := regexp.MustCompile(`drawbridge_\w+`)
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, m := range metric.FindAllString(target.Expr, -1) {
				if !known[m] {
					t.Errorf("%s asks for %s, which is not collected", p.Title, m)
				}
			}
		}
	}
	if n := len(dashboard.Panels); n < 8 {
		t.Errorf("%d panels", n)
	}
}
