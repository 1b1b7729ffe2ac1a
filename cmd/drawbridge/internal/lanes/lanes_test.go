package lanes_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lanes"
)

const ms = time.Millisecond

func picture() lanes.Picture {
	return lanes.Picture{
		Title: "a lock", Outcome: "writer waited 4 ms", Until: 20 * ms, Mark: 6 * ms, Hidden: "and 3 more",
		Lanes: []lanes.Lane{
			{Name: "reader 1", Segments: []lanes.Segment{
				{Activity: lanes.Reading, From: 0, To: 5 * ms},
				{Activity: lanes.Reading, From: 5 * ms, To: 10 * ms},
				{Activity: lanes.Waiting, From: 10 * ms, To: 14 * ms},
				{Activity: lanes.Reading, From: 14 * ms, To: 30 * ms}, // beyond the end
			}},
			{Name: "reader 10", Segments: []lanes.Segment{
				{Activity: lanes.Reading, From: 2100 * time.Microsecond, To: 2200 * time.Microsecond}, // less than a cell
			}},
			{Name: "writer", Segments: []lanes.Segment{
				{Activity: lanes.Waiting, From: 6 * ms, To: 10 * ms},
				{Activity: lanes.Writing, From: 10 * ms, To: 14 * ms},
			}},
		},
	}
}

// plain drops the colours, as a pipe does.
func plain(w io.Writer) io.Writer {
	return &colorprofile.Writer{Forward: w, Profile: colorprofile.NoTTY}
}

func TestTextShowsEachActivityInItsPlace(t *testing.T) {
	var b strings.Builder
	if err := picture().Text(plain(&b), 11+40); err != nil {
		t.Fatal(err)
	}
	// Two cells are a millisecond.
	want := `a lock  writer waited 4 ms
           ╷0s         ▼ asks  ╷10ms     ╷15ms
reader 1   ┝━━━━━━━━━┝━━━━━━━━━········┝━━━━━━━━━━━
reader 10      ┝
writer                 ········▐███████
           and 3 more
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestTextFitsItsWidth(t *testing.T) {
	for width := 40; width <= 200; width += 7 {
		var b strings.Builder
		if err := picture().Text(plain(&b), width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
	}
}

// TestSVGIsWellFormedAndWhole parses the picture and counts its parts.
func TestSVGIsWellFormedAndWhole(t *testing.T) {
	var b strings.Builder
	p := picture()
	p.Title = `<lock> & "friends"`
	if err := lanes.SVG(&b, "10 readers & a <writer>", []lanes.Picture{p, p, p}); err != nil {
		t.Fatal(err)
	}
	shapes, texts := map[string]int{}, map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range token.Attr {
				if a.Name.Local == "class" {
					shapes[a.Value]++
				}
			}
		case xml.CharData:
			texts[string(token)]++
		}
	}
	// Each picture, and one of each kind in the legend.
	for class, want := range map[string]int{"waiting": 3*2 + 1, "reading": 3*4 + 1, "writing": 3 + 1, "ask": 3 + 1} {
		if shapes[class] != want {
			t.Errorf("%d shapes are %s, want %d", shapes[class], class, want)
		}
	}
	for _, text := range []string{p.Title, p.Outcome, p.Hidden, "readers", "writer"} {
		if texts[text] != 3 {
			t.Errorf("%q stands there %d times, want 3", text, texts[text])
		}
	}
	if !strings.Contains(b.String(), "prefers-color-scheme:dark") {
		t.Error("there are no colours for a dark page")
	}
}
