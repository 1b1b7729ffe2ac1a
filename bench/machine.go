package main

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// machine is what the figures of a report depend on.
type machine struct {
	System  string   `json:"system"`
	CPU     string   `json:"cpu"`
	Cores   int      `json:"cores"`
	Procs   int      `json:"gomaxprocs"`
	Go      string   `json:"go"`
	Modules []string `json:"modules"`
	Load    string   `json:"load,omitempty"` // averages over 1, 5 and 15 minutes before the run
}

func thisMachine() machine {
	m := machine{
		System: runtime.GOOS + "/" + runtime.GOARCH,
		CPU:    cpuModel(),
		Cores:  runtime.NumCPU(),
		Procs:  runtime.GOMAXPROCS(0),
		Go:     runtime.Version(),
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += ", Linux " + strings.TrimSpace(string(release))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(load))[:3], " ")
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if slices.Contains(measuredModules, dep.Path) {
				m.Modules = append(m.Modules, dep.Path+" "+dep.Version)
			}
		}
	}
	return m
}

// measuredModules are the modules whose locks are in the rows.
var measuredModules = []string{
	"github.com/drawbridge-go/drawbridge",
	"github.com/puzpuzpuz/xsync/v4",
	"github.com/sasha-s/go-deadlock",
	"golang.org/x/sync",
}

// cpuModel is "unknown" where the system does not say it in a file.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
