package inspect

import "github.com/drawbridge-go/drawbridge"

// deadlock returns the circle of goroutines, each of which waits for what the
// next one holds, that the wait t closes.
//
// What is said of a goroutine that waits is exact: it has told of all that it
// took and gave back before. So a circle of them is none that is just coming
// undone, unless somebody else unlocks what one of them holds; locks that this
// was seen of are left out.
func (d *detector) deadlock(t *taken) []Misuse {
	if len(d.held[t.goroutine]) == 0 {
		return nil
	}
	way := d.wayBack(t, t, make(map[*taken]bool))
	if way == nil {
		return nil
	}
	last := len(way) - 1
	steps := append([]Step{way[last], t.step(true)}, way[:last]...)
	return []Misuse{{Kind: OrderInversion, Steps: steps}}
}

// wayBack follows who waits for whom, from w to a hold of the goroutine that
// waits by first.
func (d *detector) wayBack(first, w *taken, seen map[*taken]bool) []Step {
	if seen[w] || d.handed[w.lockID] {
		return nil
	}
	seen[w] = true
	for _, h := range d.locks[w.lockID].holds {
		if !excludes(w.mode, h.mode) {
			continue
		}
		if h.goroutine == first.goroutine {
			if h.lockID == first.lockID {
				continue // it waits for itself, which is another misuse
			}
			return []Step{h.step(false)}
		}
		if next := d.waiter[h.goroutine]; next != nil {
			if way := d.wayBack(first, next, seen); way != nil {
				return append([]Step{h.step(false), next.step(true)}, way...)
			}
		}
	}
	// A reader waits for the writers before it, too.
	if w.mode != drawbridge.Read || policyOf(w.lock) == drawbridge.PreferReaders.String() {
		return nil
	}
	for _, next := range d.locks[w.lockID].waits {
		if next == w {
			break
		}
		if next.mode != drawbridge.Write {
			continue
		}
		if way := d.wayBack(first, next, seen); way != nil {
			return append([]Step{next.step(true)}, way...)
		}
	}
	return nil
}
