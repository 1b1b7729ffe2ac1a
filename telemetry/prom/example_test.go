package prom_test

import (
	"fmt"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
	"github.com/drawbridge-go/drawbridge/telemetry/prom"
	"github.com/prometheus/client_golang/prometheus"
)

func ExampleNewCollector() {
	var routes drawbridge.RWMutex
	defer inspect.Watch("routes", &routes)()
	registry := prometheus.NewRegistry() // promhttp.HandlerFor serves it
	registry.MustRegister(prom.NewCollector())

	routes.Lock()
	defer routes.Unlock()
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, family := range families {
		if family.GetName() != "drawbridge_lock_holders" {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetGauge().GetValue() > 0 {
				for _, label := range m.GetLabel() {
					fmt.Printf("%s=%s ", label.GetName(), label.GetValue())
				}
				fmt.Println(m.GetGauge().GetValue())
			}
		}
	}
	// Output: lock=routes mode=write 1
}
