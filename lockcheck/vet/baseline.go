package vet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
)

// A key is what makes a finding the same one after the lines around it have moved.
type key struct {
	Analyzer string `json:"analyzer"`
	Package  string `json:"package"`
	Function string `json:"function,omitempty"`
	Message  string `json:"message"`
}

var lineNumber = regexp.MustCompile(`(\.go):\d+`)

func keyOf(f Finding) key {
	return key{f.Analyzer, f.Package, f.Function, lineNumber.ReplaceAllString(f.Message, "$1")}
}

// A baseline lists known findings. Where a function has several that read alike, Count says how many.
type baseline struct {
	Version  int     `json:"version"`
	Findings []known `json:"findings"`
}

type known struct {
	key
	Count int `json:"count"`
}

func writeBaseline(file string, found []Finding) error {
	counts := map[key]int{}
	for _, f := range found {
		counts[keyOf(f)]++
	}
	b := baseline{Version: 1, Findings: []known{}}
	for k, n := range counts {
		b.Findings = append(b.Findings, known{k, n})
	}
	sort.Slice(b.Findings, func(i, j int) bool {
		return fmt.Sprint(b.Findings[i].key) < fmt.Sprint(b.Findings[j].key)
	})
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "\t")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(b); err != nil {
		return err
	}
	return os.WriteFile(file, buf.Bytes(), 0o644)
}

// subtractBaseline leaves the findings that the file does not have, or has less often.
func subtractBaseline(file string, found []Finding) ([]Finding, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the baseline cannot be read; write one with --write-baseline: %w", err)
	}
	var b baseline
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return nil, fmt.Errorf("%q is no baseline: %w", file, err)
	}
	if b.Version != 1 {
		return nil, fmt.Errorf("%q is a baseline of version %d; this program reads version 1", file, b.Version)
	}
	left := map[key]int{}
	for _, k := range b.Findings {
		left[k.key] += k.Count
	}
	var out []Finding
	for _, f := range found {
		if k := keyOf(f); left[k] > 0 {
			left[k]--
			continue
		}
		out = append(out, f)
	}
	return out, nil
}
