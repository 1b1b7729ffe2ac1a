package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The workload that the library was made for: request handlers that read a routing table across a call that
// waits, and a refresher that now and then writes it across several such calls.
const (
	seedHandlers = 300
	seedCall     = time.Millisecond
	seedEvery    = 50 * time.Millisecond
	seedRun      = time.Second
)

// A table is the state that handlers read and the refresher writes, under one of the ways to protect it.
type table struct {
	read    func(call func()) // hold the table for reading around the call
	refresh func(build func())
}

func unprotectedTable() table {
	return table{
		read:    func(call func()) { call() },
		refresh: func(build func()) { build() },
	}
}

func mutexTable(mu sync.Locker) table {
	return table{read: scopedBy(mu), refresh: scopedBy(mu)}
}

func rwTable(write, read sync.Locker) table {
	return table{read: scopedBy(read), refresh: scopedBy(write)}
}

// seedResult is one run of the workload.
type seedResult struct {
	readsPerSecond float64
	// between is the mean time of the reads that began and ended between the same two refreshes, from asking
	// for the table to having let go of it. It stands for the rate at which reads go while no refresh is on:
	// all handlers leave a refresh in step, so a count of the reads in an interval would depend on where the
	// interval is cut.
	between time.Duration
	p99Wait time.Duration // of the time from asking for the table to having it
}

func runSeed(t table) seedResult {
	var (
		refreshing atomic.Int64 // odd while a refresh is asked for or going on
		stop       = make(chan struct{})
		refresher  sync.WaitGroup
		handlers   sync.WaitGroup
		reads      = make([]seedReads, seedHandlers)
	)
	begin := time.Now()
	for i := range reads {
		handlers.Go(func() { reads[i].run(t, begin, &refreshing) })
	}
	refresher.Go(func() {
		tick := time.NewTicker(seedEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			refreshing.Add(1)
			t.refresh(func() {
				for range 3 {
					time.Sleep(seedCall)
				}
			})
			refreshing.Add(1)
		}
	})
	handlers.Wait()
	took := time.Since(begin)
	close(stop)
	refresher.Wait()

	var all seedReads
	for i := range reads {
		all.waits = append(all.waits, reads[i].waits...)
		all.between += reads[i].between
		all.took += reads[i].took
	}
	slices.Sort(all.waits)
	result := seedResult{
		readsPerSecond: float64(len(all.waits)) / took.Seconds(),
		p99Wait:        all.waits[(len(all.waits)*99-1)/100],
	}
	if all.between > 0 {
		result.between = all.took / time.Duration(all.between)
	}
	return result
}

// seedReads is what one handler saw.
type seedReads struct {
	waits   []time.Duration
	between int           // reads between two refreshes
	took    time.Duration // by those
}

func (r *seedReads) run(t table, begin time.Time, refreshing *atomic.Int64) {
	for time.Since(begin) < seedRun {
		epoch := refreshing.Load()
		asked := time.Now()
		t.read(func() {
			r.waits = append(r.waits, time.Since(asked))
			time.Sleep(seedCall)
		})
		if epoch%2 == 0 && refreshing.Load() == epoch {
			r.between++
			r.took += time.Since(asked)
		}
	}
}
