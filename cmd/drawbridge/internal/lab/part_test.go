package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lab"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lanes"
)

func lane(name string, a lanes.Activity, fromMS, toMS int) lanes.Lane {
	return lanes.Lane{Name: name, Segments: []lanes.Segment{{
		Activity: a, From: time.Duration(fromMS) * time.Millisecond, To: time.Duration(toMS) * time.Millisecond,
	}}}
}

// A lock that lets a writer in beside others is found in the lanes.
func TestOverlapWithAWriterIsFound(t *testing.T) {
	write := lane("writer", lanes.Writing, 10, 20)
	for _, test := range []struct {
		other lanes.Lane
		bad   bool
	}{
		{lane("reader", lanes.Reading, 0, 10), false},
		{lane("reader", lanes.Reading, 20, 30), false},
		{lane("reader", lanes.Waiting, 12, 18), false},
		{lane("reader", lanes.Reading, 12, 18), true},
		{lane("reader", lanes.Reading, 0, 15), true},
		{lane("other", lanes.Writing, 15, 25), true},
	} {
		err := lab.Exclusive([]lanes.Lane{write, test.other})
		if (err != nil) != test.bad || err != nil && !strings.Contains(err.Error(), "the lock let both in") {
			t.Errorf("%+v: %v, want an error: %t", test.other, err, test.bad)
		}
	}
}

func TestPartsAreOneResult(t *testing.T) {
	r := lab.Together(contender.Contender{}, []lab.Part{
		{Lane: lane("reader 1", lanes.Reading, 0, 10), Reads: 1, Acquired: []time.Duration{3}, LongestReadWait: 3, Messages: 2},
		{Lane: lane("reader 2", lanes.Reading, 5, 15), Reads: 1, Acquired: []time.Duration{1}, LongestReadWait: 1, Messages: 3},
		{Lane: lane("reader 3", lanes.Reading, 15, 20), Reads: 1, Acquired: []time.Duration{2}, LongestReadWait: 2, Messages: 4},
		{Lane: lane("writer", lanes.Waiting, 0, 20), Writes: []lab.Write{{GaveUp: true}}, Messages: 6},
	})
	if r.PeakReaders != 2 || r.Reads != 3 || r.LongestReadWait != 3 || r.MessagesPerGrant != 5 || len(r.Writes) != 1 || len(r.Lanes) != 4 ||
		r.Acquired[0] != 1 || r.Acquired[2] != 3 {
		t.Errorf("%+v", r)
	}
}
