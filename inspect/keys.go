package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// keys counts by key for a Keyed, for as many keys as fit: the busiest. It is
// nil for other locks.
//
// A key that comes when all places are taken gets that of the least busy of a
// few, and takes its count over (Space-Saving, Metwally et al. 2005, with a
// sample for the minimum): a key that is really busy is soon in and stays, and
// a count is too high by what was taken over at most, which is told.
type keys struct {
	counts map[any]*keyCounts
}

type keyCounts struct {
	holds, over uint64 // over of holds were somebody else's
	waited      time.Duration
	waits       uint64
	inside      [drawbridge.Write + 1]int
	waiting     int
}

const (
	maxKeys  = 256 // counted
	topKeys  = 20  // shown
	maxKeyOf = 64  // bytes of a key that are shown
)

func newKeys() *keys { return &keys{counts: make(map[any]*keyCounts)} }

func (k *keys) of(key any) *keyCounts {
	if c := k.counts[key]; c != nil {
		return c
	}
	c := new(keyCounts)
	if len(k.counts) >= maxKeys {
		var least any
		n := 0
		for other, oc := range k.counts { // begins anywhere
			if oc.idle() && (least == nil || oc.holds < k.counts[least].holds) {
				least = other
			}
			if n++; n >= 16 {
				break
			}
		}
		if least == nil {
			return nil
		}
		c.over = k.counts[least].holds
		c.holds = c.over
		delete(k.counts, least)
	}
	k.counts[key] = c
	return c
}

func (c *keyCounts) idle() bool { return c.inside == [drawbridge.Write + 1]int{} && c.waiting == 0 }

func (k *keys) holds(key any, m drawbridge.Mode, n int) {
	if k == nil || key == nil {
		return
	}
	if n < 0 && k.counts[key] == nil {
		return
	}
	if c := k.of(key); c != nil {
		if n > 0 {
			c.holds++
		}
		c.inside[m] = max(c.inside[m]+n, 0)
	}
}

func (k *keys) waits(key any, n int) {
	if k == nil || key == nil {
		return
	}
	if n < 0 && k.counts[key] == nil {
		return
	}
	if c := k.of(key); c != nil {
		c.waiting = max(c.waiting+n, 0)
	}
}

func (k *keys) waited(key any, d time.Duration) {
	if k == nil || key == nil {
		return
	}
	if c := k.of(key); c != nil {
		c.waits++
		c.waited += d
	}
}

// keyCount is a key with its counts, not yet made into text: that calls code of
// the user's, which must not happen under a record's mutex.
type keyCount struct {
	key any
	keyCounts
}

// all returns the counts of all keys.
func (k *keys) all() []keyCount {
	if k == nil {
		return nil
	}
	l := make([]keyCount, 0, len(k.counts))
	for key, c := range k.counts {
		l = append(l, keyCount{key, *c})
	}
	return l
}

// topKeysOf returns the busiest keys: those waited for, then the most held.
func topKeysOf(counts []keyCount) []Key {
	busy := func(a, b keyCount) int {
		return cmp.Or(cmp.Compare(b.waiting, a.waiting), cmp.Compare(b.waited, a.waited), cmp.Compare(b.holds, a.holds))
	}
	slices.SortFunc(counts, busy)
	var l []Key
	for _, c := range counts[:min(len(counts), topKeys)] {
		inside := 0
		for _, n := range c.inside {
			inside += n
		}
		l = append(l, Key{
			Key: keyText(c.key), Holds: c.holds, Overcount: c.over,
			Waits: c.waits, Waited: c.waited, Inside: inside, Waiting: c.waiting,
		})
	}
	return l
}

// keyText shows a key. A String method that panics is shown by fmt itself.
func keyText(key any) string {
	if key == nil {
		return ""
	}
	s := fmt.Sprint(key)
	if len(s) > maxKeyOf {
		s = strings.ToValidUTF8(s[:maxKeyOf], "") + "…"
	}
	return s
}
