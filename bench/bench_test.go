package main

import (
	"runtime"
	"strings"
	"testing"
)

// The rows as ordinary benchmarks, for benchstat and for profiles:
//
//	go test ./bench -run - -bench Mixed -cpuprofile cpu.out
//	go test ./bench -run - -bench . -count 10 | benchstat -col /lock -
//
// Each is measured on its own here, one after the other. To compare contenders, use the command, which takes
// turns between them.

func BenchmarkUncontended(b *testing.B) { benchmark(b, "uncontended/") }
func BenchmarkScoped(b *testing.B)      { benchmark(b, "scoped/") }
func BenchmarkReaders(b *testing.B)     { benchmark(b, "readers/") }
func BenchmarkMixed(b *testing.B)       { benchmark(b, "mixed/") }
func BenchmarkMutex(b *testing.B)       { benchmark(b, "mutex/") }
func BenchmarkHandOff(b *testing.B)     { benchmark(b, "handoff/") }
func BenchmarkRelease(b *testing.B)     { benchmark(b, "release/") }
func BenchmarkCancel(b *testing.B)      { benchmark(b, "cancel/") }
func BenchmarkSnapshot(b *testing.B)    { benchmark(b, "snapshot/") }
func BenchmarkKeyed(b *testing.B)       { benchmark(b, "keyed/") }

func benchmark(b *testing.B, prefix string) {
	for _, r := range allRows() {
		name, ok := strings.CutPrefix(r.name, prefix)
		if !ok || r.counted {
			continue
		}
		for _, e := range r.entries {
			b.Run(name+"/lock="+strings.ReplaceAll(e.name, " ", "_"), func(b *testing.B) {
				runtime.GC()
				b.ResetTimer()
				took := e.loop(b.N)
				b.ReportMetric(float64(took)/float64(b.N), "ns/op")
			})
		}
	}
}
