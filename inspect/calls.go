package inspect

import "iter"

// calls has the holds or the waits of a lock under way, by their names. Most
// locks have one at a time, which is kept beside the map: that is worth a tenth
// of what a watched hold costs.
type calls struct {
	name uint64
	one  *call // nil if there is none of that name
	more map[uint64]*call
}

// get returns the call of that name, or nil.
func (l *calls) get(name uint64) *call {
	if l.one != nil && l.name == name {
		return l.one
	}
	return l.more[name]
}

func (l *calls) put(name uint64, c *call) {
	if l.one == nil {
		l.name, l.one = name, c
		return
	}
	if l.more == nil {
		l.more = make(map[uint64]*call)
	}
	l.more[name] = c
}

func (l *calls) remove(name uint64) {
	if l.one != nil && l.name == name {
		l.one = nil
		return
	}
	delete(l.more, name)
}

// all yields the calls in no order.
func (l *calls) all() iter.Seq[*call] {
	return func(yield func(*call) bool) {
		if l.one != nil && !yield(l.one) {
			return
		}
		for _, c := range l.more {
			if !yield(c) {
				return
			}
		}
	}
}

// copies returns the calls as they are now.
func (l *calls) copies() []call {
	copies := make([]call, 0, len(l.more)+1)
	for c := range l.all() {
		copies = append(copies, *c)
	}
	return copies
}
