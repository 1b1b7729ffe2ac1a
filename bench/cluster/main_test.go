package main

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/internal/throwaway"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "hold" { // a holder that is to be killed
		main()
		return
	}
	os.Exit(m.Run())
}

// Each row is measured for a moment, on servers that are started for it. What is counted, and not timed, is held to what
// the documentation says.
func TestEachRowIsMeasured(t *testing.T) {
	for _, c := range []struct {
		engine, rows string
		requests     float64 // of an uncontended call, and the most of a hand-over
	}{
		{"etcd", "uncontended|^contended|queue|fan-out", 2},
		{"postgres", "", 4},
	} {
		t.Run(c.engine, func(t *testing.T) {
			if _, err := throwaway.PostgresPrograms(); err != nil && c.engine == "postgres" && os.Getenv("CI") != "true" {
				t.Skip("initdb not found: install Debian's postgresql")
			}
			var out bytes.Buffer
			command := measureCommand{Rounds: 1, Time: 50 * time.Millisecond, Kills: 1, Markdown: true}
			pattern := regexp.MustCompile(c.rows)
			if err := command.on(t.Context(), c.engine, pattern, &out); err != nil {
				t.Fatal(err)
			}
			t.Log(out.String())
			for _, r := range rows {
				if pattern.MatchString(r.name) && !strings.Contains(out.String(), r.title) {
					t.Errorf("no table for %s", r.name)
				}
			}
			handOvers := 0
			for line := range strings.Lines(out.String()) {
				cells := strings.Split(strings.Trim(line, "|\n "), " | ")
				if !strings.Contains(cells[0], "process") || len(cells) < 4 {
					continue
				}
				handOvers++
				requests, err := strconv.ParseFloat(cells[3], 64)
				if err != nil || requests > c.requests+0.5 {
					t.Errorf("a hand-over took %s requests: %s", cells[3], line)
				}
			}
			if handOvers != 6 {
				t.Errorf("%d queues, want 6", handOvers)
			}
		})
	}
}
