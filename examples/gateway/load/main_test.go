package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRowCountsWhatClientsSaw(t *testing.T) {
	r := result{guard: "rwmutex", over: 2 * time.Second, samples: []sample{
		{100 * time.Millisecond, 5 * time.Millisecond, 200},
		{150 * time.Millisecond, 900 * time.Millisecond, 503}, // no answer in the sense of a stall
		{400 * time.Millisecond, 7 * time.Millisecond, 200},
		{450 * time.Millisecond, time.Millisecond, 0},
		{1900 * time.Millisecond, 30 * time.Millisecond, 200},
	}}
	if got, want := r.String(), "| rwmutex | 2 | 7.0 ms | 30 ms | 30 ms | 1500 ms | 1 | 1 |"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.samples = r.samples[:1]
	if got, want := r.String(), "| rwmutex | 0 | 5.0 ms | 5.0 ms | 5.0 ms | 1900 ms | 0 | 0 |"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.samples = nil
	if got, want := r.String(), "| rwmutex | 0 | – | – | – | 2000 ms | 0 | 0 |"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPictureIsWellFormed(t *testing.T) {
	r := result{guard: "mutex", samples: []sample{{time.Millisecond, time.Millisecond, 200}}, refreshes: []span{{0, time.Second}}}
	decoder := xml.NewDecoder(strings.NewReader(picture(options{Clients: 3, For: 2 * time.Second}, []result{r, r})))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestClientsAreServedByARealGateway(t *testing.T) {
	folder := t.TempDir()
	gateway := filepath.Join(folder, "gateway")
	if out, err := exec.Command("go", "build", "-o", gateway, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	o := options{Clients: 4, For: time.Second, Refresh: 100 * time.Millisecond}
	r, err := o.measure(t.Context(), gateway, folder, "rwmutex")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.samples) == 0 || len(r.refreshes) == 0 {
		t.Errorf("%d answers, %d refreshes", len(r.samples), len(r.refreshes))
	}
	for _, s := range r.samples {
		if s.code != 200 {
			t.Fatalf("an answer is %d", s.code)
		}
	}
}
