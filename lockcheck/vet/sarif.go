package vet

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/drawbridge-go/drawbridge/lockcheck"
)

// writeSARIF writes the Static Analysis Results Interchange Format, version 2.1.0, of which code hosts read
// rules, results, places and fingerprints.
func writeSARIF(w io.Writer, found []Finding) error {
	type text struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID    string `json:"id"`
		Short text   `json:"shortDescription"`
		Full  text   `json:"fullDescription"`
		Help  string `json:"helpUri"`
	}
	type region struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	type artifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	type physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   region   `json:"region"`
	}
	type logical struct {
		Name string `json:"fullyQualifiedName"`
	}
	type location struct {
		Physical physical  `json:"physicalLocation"`
		Logical  []logical `json:"logicalLocations,omitempty"`
	}
	type result struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      text              `json:"message"`
		Locations    []location        `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	rules, index := []rule{}, map[string]int{}
	for i, a := range lockcheck.Analyzers {
		short, _, _ := strings.Cut(a.Doc, "\n")
		rules = append(rules, rule{a.Name, text{short}, text{a.Doc}, a.URL})
		index[a.Name] = i
	}
	results := []result{}
	for _, f := range found {
		level := f.Level
		if level == lockcheck.Info {
			level = "note"
		}
		at := artifact{URI: (&url.URL{Path: f.File}).EscapedPath(), Base: "%SRCROOT%"}
		if filepath.IsAbs(f.File) {
			at = artifact{URI: "file://" + at.URI}
		}
		where := location{Physical: physical{at, region{max(f.Line, 1), f.Column}}}
		if f.Function != "" {
			where.Logical = []logical{{f.Package + "." + f.Function}}
		}
		results = append(results, result{f.Analyzer, index[f.Analyzer], level, text{f.Message}, []location{where},
			map[string]string{"lockcheck/v1": fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, keyOf(f))))[:32]}})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []any{map[string]any{
			"tool": map[string]any{"driver": map[string]any{
				"name":           "drawbridge vet",
				"informationUri": "https://pkg.go.dev/github.com/drawbridge-go/drawbridge/lockcheck",
				"rules":          rules,
			}},
			"columnKind": "utf16CodeUnits",
			"results":    results,
		}},
	})
}
