package main

import (
	"math"
	"slices"
)

// A report is everything that a run found, in the shape in which --json prints it.
type report struct {
	Machine machine     `json:"machine"`
	Rounds  int         `json:"rounds"`
	Gain    float64     `json:"gain"` // of two spinning goroutines over one, from which multi-core rounds count
	Rows    []rowReport `json:"rows"`
}

// A rowReport is one figure of one row.
type rowReport struct {
	Row       string        `json:"row"`
	What      string        `json:"what"`
	Figure    string        `json:"figure,omitempty"`
	Unit      string        `json:"unit"`
	More      bool          `json:"moreIsBetter,omitempty"`
	Counted   bool          `json:"counted,omitempty"`
	Rounds    int           `json:"rounds"`
	Discarded int           `json:"discardedRounds,omitempty"`
	Entries   []entryReport `json:"entries"`
	// Noise is the first entry measured a second time in each round, against itself.
	Noise *spread     `json:"noise,omitempty"`
	Bars  []barReport `json:"bars,omitempty"`
}

type entryReport struct {
	Name    string    `json:"name"`
	Role    role      `json:"role"`
	Value   spread    `json:"value"`
	ToBest  *float64  `json:"toBestPeer,omitempty"` // median of the ratios of the same round
	ToFirst *float64  `json:"toSync,omitempty"`     // likewise
	Samples []float64 `json:"samples"`
}

// A spread is a median and the quartiles around it.
type spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// A barReport says whether a bar is reached. Value is the measured factor that Limit bounds.
type barReport struct {
	Bar     string  `json:"bar"`
	Limit   float64 `json:"limit"`
	Value   float64 `json:"value"`
	Reached bool    `json:"reached"`
	Missing string  `json:"missing,omitempty"` // why there is no value
}

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	return spread{Median: quantile(v, 0.5), Low: quantile(v, 0.25), High: quantile(v, 0.75)}
}

// quantile interpolates in sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func median(values []float64) float64 { return spreadOf(values).Median }

// paired divides two series round by round. Ratios within a round are steadier than the ratio of two medians:
// what slows the machine down for longer than a round slows both down.
func paired(a, b []float64) []float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return ratios
}

// reports turns measured rows into figures, ratios and verdicts.
func reports(rows []measured) []rowReport {
	byName := map[string]*measured{}
	for i := range rows {
		byName[rows[i].name] = &rows[i]
	}
	var all []rowReport
	for i := range rows {
		for f := range rows[i].figures {
			all = append(all, rows[i].report(f, byName))
		}
	}
	return all
}

func (m *measured) report(f int, rows map[string]*measured) rowReport {
	r := rowReport{
		Row: m.name, What: m.what, Figure: m.figures[f].name, Unit: m.figures[f].unit, More: m.figures[f].more,
		Counted: m.counted, Rounds: len(m.samples[0][f]), Discarded: m.discarded,
	}
	for _, b := range m.bars {
		if b.of.figure == f {
			r.Bars = append(r.Bars, m.judge(b, rows))
		}
	}
	if r.Rounds == 0 {
		return r
	}
	best := m.bestPeer(f)
	for e, entry := range m.entries {
		s := m.samples[e][f]
		if !m.counted && e == len(m.entries)-1 {
			noise := spreadOf(paired(s, m.samples[0][f]))
			r.Noise = &noise
			break
		}
		er := entryReport{Name: entry.name, Role: entry.role, Value: spreadOf(s), Samples: s}
		er.ToFirst = ratio(s, m.samples[0][f])
		if best >= 0 {
			er.ToBest = ratio(s, m.samples[best][f])
		}
		r.Entries = append(r.Entries, er)
	}
	return r
}

// ratio is nil where dividing says nothing: by a count that is nothing but the runtime's own.
func ratio(a, b []float64) *float64 {
	if slices.Min(b) < 0.01 {
		return nil
	}
	v := median(paired(a, b))
	return &v
}

func (m *measured) bestPeer(f int) int {
	best := -1
	for e, entry := range m.entries {
		if entry.role != peer || !m.counted && e == len(m.entries)-1 {
			continue
		}
		if best < 0 || (median(m.samples[e][f]) < median(m.samples[best][f])) != m.figures[f].more {
			best = e
		}
	}
	return best
}

func (m *measured) judge(b bar, rows map[string]*measured) barReport {
	r := barReport{Bar: b.String(), Limit: b.limit}
	of, missing := m.series(b.of, rows)
	if missing != "" {
		r.Missing = missing
		return r
	}
	switch {
	case b.times.entry == "":
		r.Value = median(of)
	default:
		times, missing := m.series(b.times, rows)
		switch {
		case missing != "":
			r.Missing = missing
			return r
		case b.of.row == "" && b.times.row == "":
			r.Value = median(paired(of, times))
		default: // rounds of different rows do not belong together
			r.Value = median(of) / median(times)
		}
	}
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		r.Value, r.Missing = 0, "the reference is 0"
		return r
	}
	r.Reached = r.Value <= r.Limit
	return r
}

// series gives the values of a term, round by round, or says what was not measured.
func (m *measured) series(t term, rows map[string]*measured) (values []float64, missing string) {
	if t.row != "" {
		m = rows[t.row]
	}
	if m == nil {
		return nil, "needs row " + t.row
	}
	values, ok := m.entry(t.entry, t.figure)
	if !ok {
		return nil, t.entry + " was not measured"
	}
	if t.above == "" {
		return values, ""
	}
	floor, ok := m.entry(t.above, t.figure)
	if !ok {
		return nil, t.above + " was not measured"
	}
	difference := make([]float64, len(values))
	for i := range values {
		difference[i] = values[i] - floor[i]
	}
	return difference, ""
}

func (m *measured) entry(name string, f int) ([]float64, bool) {
	for e, entry := range m.entries {
		if entry.name == name && len(m.samples[e][f]) > 0 {
			return m.samples[e][f], true
		}
	}
	return nil, false
}
