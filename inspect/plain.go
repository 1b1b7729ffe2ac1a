package inspect

import "time"

// plainReaders is the account of the readers whose release names none of them.
// Sums over all of them are exact; what is said of one is an estimate that
// errs on the side of too little.
type plainReaders struct {
	inside  int
	entered uint64
	left    uint64 // those older than the watch included

	// held is the time that all of them have spent inside, up to last.
	held, last time.Duration
	since      time.Duration // when the first of those inside came

	// oldest has the entry times of those inside, on the assumption that
	// whoever came first leaves first: a ring. Some reader inside is at
	// least as old as its head. After k releases one of the first k+1 to
	// come must still be there, and the head is the (k+1)th, or a later one
	// if some did not fit.
	oldest     [64]time.Duration
	head, kept int

	// sites has where the readers came from that have entered since there
	// was none inside.
	sites []plainSite
	more  uint64 // those who came from sites that did not fit
}

type plainSite struct {
	pc     uintptr
	labels labels
	n      uint64
}

const maxPlainSites = 32

func (p *plainReaders) advance(now time.Duration) {
	p.held += time.Duration(p.inside) * max(now-p.last, 0)
	p.last = now
}

func (p *plainReaders) enter(now time.Duration, pc uintptr, l labels) {
	p.advance(now)
	if p.inside == 0 {
		p.sites, p.more = p.sites[:0], 0
		p.head, p.kept = 0, 0
		p.since = now
	}
	p.inside++
	p.entered++
	if p.kept < len(p.oldest) {
		p.oldest[(p.head+p.kept)%len(p.oldest)] = now
		p.kept++
	}
	for i := range p.sites {
		if s := &p.sites[i]; s.pc == pc && s.labels == l {
			s.n++
			return
		}
	}
	if len(p.sites) == maxPlainSites {
		p.more++
		return
	}
	p.sites = append(p.sites, plainSite{pc, l, 1})
}

// leave returns, when the last reader leaves, for how long there were any.
func (p *plainReaders) leave(now time.Duration) (free time.Duration) {
	p.advance(now)
	p.left++
	if p.inside == 0 {
		return 0 // it entered before the watch
	}
	p.inside--
	if p.kept > 0 {
		p.head = (p.head + 1) % len(p.oldest)
		p.kept--
	}
	if p.inside == 0 {
		return max(now-p.since, 0)
	}
	return 0
}

// age returns how old the oldest reader inside is at least.
func (p *plainReaders) age(now time.Duration) time.Duration {
	if p.kept == 0 {
		return 0
	}
	return max(now-p.oldest[p.head], 0)
}

// mean returns the mean time inside of all readers so far.
func (p *plainReaders) mean(now time.Duration) time.Duration {
	if p.entered == 0 {
		return 0
	}
	return (p.held + time.Duration(p.inside)*max(now-p.last, 0)) / time.Duration(p.entered)
}

// recentWaits counts the waits that ended in each of the last 60 seconds.
type recentWaits struct {
	second int64 // since the watch, of the newest count
	ended  [seconds]uint32
}

const seconds = 60

func (w *recentWaits) add(now time.Duration) { w.ended[w.advance(now)]++ }

// advance forgets the seconds that have gone by and returns the place of the
// present one.
func (w *recentWaits) advance(now time.Duration) int {
	s := max(int64(now/time.Second), w.second)
	if s-w.second >= seconds {
		*w = recentWaits{second: s}
	}
	for ; w.second < s; w.second++ {
		w.ended[(w.second+1)%seconds] = 0
	}
	return int(s % seconds)
}

// list returns the counts, oldest first.
func (w *recentWaits) list(now time.Duration) []uint32 {
	last := w.advance(now)
	l := make([]uint32, 0, seconds)
	for i := 1; i <= seconds; i++ {
		l = append(l, w.ended[(last+i)%seconds])
	}
	return l
}

// sum returns how many waits there were in all of them.
func (w *recentWaits) sum(now time.Duration) (n uint64) {
	w.advance(now)
	for _, c := range w.ended {
		n += uint64(c)
	}
	return n
}
