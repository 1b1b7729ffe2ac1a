package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

// A bar whose terms are misspelt would be "not judged" for ever.
func TestBarsNameWhatIsMeasured(t *testing.T) {
	rows := allRows()
	has := func(rowName, entryName string) bool {
		for _, r := range rows {
			if r.name != rowName {
				continue
			}
			for _, e := range r.entries {
				if e.name == entryName {
					return true
				}
			}
		}
		return false
	}
	for _, r := range rows {
		for _, b := range r.bars {
			for _, term := range []term{b.of, b.times} {
				in := term.row
				if in == "" {
					in = r.name
				}
				for _, entry := range []string{term.entry, term.above} {
					if entry != "" && !has(in, entry) {
						t.Errorf("%s: %v: row %q has no entry %q", r.name, b, in, entry)
					}
				}
			}
		}
	}
}

func TestRowNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range allRows() {
		if seen[r.name] {
			t.Errorf("two rows are called %q", r.name)
		}
		seen[r.name] = true
	}
}

// twoRows is a measured example: floor 10 and 20 a round, ours 12 and 23, theirs 11 and 30, and the control.
func twoRows() []measured {
	first := row{name: "first", figures: perOperation, bars: []bar{
		under("ours", 1.05, "theirs"),
		under("ours", 0.9, "theirs"),
		{of: term{entry: "ours", above: "floor"}, limit: 2.5},
		{of: term{entry: "ours", above: "floor"}, limit: 1.5, times: term{row: "second", entry: "ours", above: "floor"}},
		under("nobody", 1, "theirs"),
		{of: term{row: "third", entry: "ours"}, limit: 1},
	}}
	entries := []entry{{name: "theirs", role: peer}, {name: "ours", role: own}, {name: "floor", role: floor}, {name: "theirs again", role: peer}}
	first.entries = entries
	second := row{name: "second", figures: perOperation, entries: entries}
	return []measured{
		{row: first, samples: samples{{{10, 30}}, {{12, 23}}, {{10, 20}}, {{11, 30}}}},
		{row: second, samples: samples{{{10, 30}}, {{11, 21}}, {{10, 20}}, {{11, 30}}}},
	}
}

func TestBarsAreJudgedByPairedRounds(t *testing.T) {
	got := reports(twoRows())[0].Bars
	// Paired ratios 12/10 and 23/30 have the median 0.983; ours above the floor is 2 and 3, then 1 and 1.
	want := []struct {
		value   float64
		reached bool
		missing string
	}{
		{0.983, true, ""},
		{0.983, false, ""},
		{2.5, true, ""},
		{2.5, false, ""},
		{0, false, "nobody was not measured"},
		{0, false, "needs row third"},
	}
	for i, w := range want {
		if math.Abs(got[i].Value-w.value) > 0.001 || got[i].Reached != w.reached || got[i].Missing != w.missing {
			t.Errorf("%s: value %v, reached %v, missing %q; want %+v", got[i].Bar, got[i].Value, got[i].Reached, got[i].Missing, w)
		}
	}
}

func TestControlIsNoContender(t *testing.T) {
	r := reports(twoRows())[0]
	if len(r.Entries) != 3 || r.Noise == nil || math.Abs(r.Noise.Median-1.05) > 0.001 {
		t.Errorf("%d entries and noise %v, want 3 and 1.05", len(r.Entries), r.Noise)
	}
}

func TestQuantileInterpolates(t *testing.T) {
	got := spreadOf([]float64{4, 1, 3, 2})
	if want := (spread{Median: 2.5, Low: 1.75, High: 3.25}); got != want {
		t.Errorf("spread of 1 to 4 is %v, want %v", got, want)
	}
}

// A report holds up in every form also when a row could not be measured or has a zero to divide by.
func TestReportsInEveryForm(t *testing.T) {
	rows := twoRows()
	rows[1].samples = samples{{nil}, {nil}, {nil}, {nil}} // never quiet enough
	zero := row{name: "zero", figures: perOperation, counted: true, entries: []entry{{name: "theirs"}, {name: "ours", role: own}}}
	rows = append(rows, measured{row: zero, samples: samples{{{0, 0}}, {{0, 1}}}})
	r := report{Machine: thisMachine(), Rounds: 2, Rows: reports(rows)}

	var text, markdown bytes.Buffer
	r.writeText(&text)
	r.writeMarkdown(&markdown)
	for _, s := range []string{text.String(), markdown.String()} {
		for _, want := range []string{"reached: ours ≤ 1.05 × theirs, is 0.98", "MISSED: ours ≤ 0.9 × theirs", "never quiet enough"} {
			if !strings.Contains(s, want) {
				t.Errorf("%q is missing in:\n%s", want, s)
			}
		}
		if strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Errorf("a ratio to nothing is printed:\n%s", s)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	picture := xml.NewDecoder(bytes.NewReader(r.svg()))
	for {
		if _, err := picture.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the picture is no well-formed XML: %v", err)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.004: "0.004", 1.05: "1.05", 2: "2", 12.34: "12.3", 99.96: "100", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := short(v); got != want {
			t.Errorf("short(%v) = %q, want %q", v, got, want)
		}
	}
}

// Discarded rounds leave no sample, and a row that runs out of retries ends.
func TestBusyMachineEndsTheRow(t *testing.T) {
	measures := 0
	r := row{name: "busy", figures: perOperation, multicore: true, operations: 1, entries: []entry{{
		name: "theirs", loop: func(int) time.Duration { measures++; return 1 },
	}}}
	p := plan{rounds: 3, time: time.Millisecond, retries: 2, progress: io.Discard, enough: 1.7, gain: func() float64 { return 1.2 }}
	m := p.run(t.Context(), r)
	if m.discarded != 3 || measures != 0 || len(m.samples[0][0]) != 0 {
		t.Errorf("%d rounds discarded, %d measured, %d kept; want 3, 0, 0", m.discarded, measures, len(m.samples[0][0]))
	}
}

// A round during which the machine got busy does not count either.
func TestRoundThatEndsBusyIsDiscarded(t *testing.T) {
	gains := []float64{2, 1.1, 2, 2}
	r := row{name: "busy", figures: perOperation, multicore: true, operations: 1, entries: []entry{{
		name: "theirs", loop: func(int) time.Duration { return 1 },
	}}}
	p := plan{rounds: 1, time: time.Millisecond, retries: 2, progress: io.Discard, enough: 1.7, gain: func() float64 {
		g := gains[0]
		gains = gains[1:]
		return g
	}}
	m := p.run(t.Context(), r)
	if m.discarded != 1 || len(m.samples[0][0]) != 1 {
		t.Errorf("%d rounds discarded and %d kept, want 1 and 1", m.discarded, len(m.samples[0][0]))
	}
}

// An interrupted run keeps whole rounds only.
func TestInterruptKeepsWholeRounds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	measures := 0
	loop := func(int) time.Duration {
		if measures++; measures == 5 {
			cancel() // in the second of three rounds of three measurements
		}
		return 1
	}
	r := row{name: "row", figures: perOperation, operations: 1, entries: []entry{{name: "theirs", loop: loop}, {name: "ours", loop: loop}}}
	m := plan{rounds: 3, time: time.Millisecond, progress: io.Discard}.run(ctx, r)
	if measures != 5 || len(m.samples[0][0]) != 1 || len(m.samples[1][0]) != 1 {
		t.Errorf("%d measurements, %d and %d kept; want 5, 1 and 1", measures, len(m.samples[0][0]), len(m.samples[1][0]))
	}
}
