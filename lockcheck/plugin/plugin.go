// Package plugin makes the lock analyzers linters of golangci-lint, by its module plugin system. A
// .custom-gcl.yml names the plugin,
//
//	version: v2.12.2
//	plugins:
//	  - module: github.com/drawbridge-go/drawbridge/lockcheck/plugin
//	    version: v0.1.0
//
// golangci-lint custom builds a golangci-lint with it, and .golangci.yml switches it on:
//
//	version: "2"
//	linters:
//	  enable: [lockcheck]
//	  settings:
//	    custom:
//	      lockcheck:
//	        type: module
//	        settings:
//	          also: [lockorder, lockblock] # beside the analyzers whose findings are errors
package plugin

import (
	"fmt"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/drawbridge-go/drawbridge/lockcheck"
)

func init() { register.Plugin("lockcheck", New) }

// Settings are what .golangci.yml says.
type Settings struct {
	Also []string `json:"also"` // analyzers to run beside those whose findings are errors
}

// New makes the plugin from the settings of .golangci.yml.
func New(settings any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](settings)
	if err != nil {
		return nil, err
	}
	p := &plugin{analyzers: append([]*analysis.Analyzer(nil), lockcheck.Errors...)}
	for _, a := range lockcheck.Errors {
		if err := a.Flags.Set("level", lockcheck.Error); err != nil {
			return nil, err
		}
	}
next:
	for _, name := range s.Also {
		for _, a := range lockcheck.Analyzers {
			if a.Name != name {
				continue
			}
			if err := a.Flags.Set("level", lockcheck.Warning); err != nil {
				return nil, err
			}
			if !p.has(a) {
				p.analyzers = append(p.analyzers, a)
			}
			continue next
		}
		return nil, fmt.Errorf("lockcheck: there is no analyzer %q", name)
	}
	return p, nil
}

type plugin struct{ analyzers []*analysis.Analyzer }

func (p *plugin) has(a *analysis.Analyzer) bool {
	for _, b := range p.analyzers {
		if a == b {
			return true
		}
	}
	return false
}

// BuildAnalyzers returns the analyzers to run.
func (p *plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) { return p.analyzers, nil }

// GetLoadMode says that the analyzers need types.
func (p *plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
