package inspect

import (
	"compress/gzip"
	"io"
	"time"
)

// writeProfile writes who holds the locks, or who waits for them, as a pprof
// profile: a sample for each call, with its count and its age, the lock, mode
// and labels as labels, and its stack.
//
// Plain readers, of whom it is not known who is inside, have a sample for each
// site that they came from since there was none, with the label "plain".
func writeProfile(w io.Writer, locks []Lock, waiting bool, now time.Time) error {
	p := newProfile(now)
	for i := range locks {
		l := &locks[i]
		calls := l.Holders
		if waiting {
			calls = l.Waiters
		}
		for _, c := range calls {
			labels := append([]Label{{"lock", l.Name}, {"mode", c.Mode}}, c.Labels...)
			if c.Key != "" {
				labels = append(labels, Label{"key", c.Key})
			}
			p.sample(c.Stack, 1, c.Age, labels)
		}
		if waiting || l.PlainReaders.Inside == 0 {
			continue
		}
		for _, s := range l.PlainReaders.Sites {
			labels := append([]Label{{"lock", l.Name}, {"mode", "read"},
				{"plain", "entered since the lock was last free of plain readers"}}, s.Labels...)
			p.sample(s.Stack, int64(s.Entered), l.PlainReaders.AtLeast, labels)
		}
	}
	return p.writeTo(w)
}

// profile is a message of pprof's profile.proto under construction. The field
// numbers are those of that file.
type profile struct {
	out       proto
	strings   map[string]int64
	table     []string
	functions map[Frame]uint64 // by function and file
	locations map[Frame]uint64
}

func newProfile(now time.Time) *profile {
	p := &profile{strings: map[string]int64{}, functions: map[Frame]uint64{}, locations: map[Frame]uint64{}}
	p.string("") // has to be the first
	for _, t := range [][2]string{{"calls", "count"}, {"age", "nanoseconds"}} {
		p.out.message(1, func(m *proto) { // sample_type
			m.int(1, p.string(t[0]))
			m.int(2, p.string(t[1]))
		})
	}
	p.out.int(9, now.UnixNano()) // time_nanos
	return p
}

func (p *profile) string(s string) int64 {
	if i, ok := p.strings[s]; ok {
		return i
	}
	i := int64(len(p.table))
	p.strings[s] = i
	p.table = append(p.table, s)
	return i
}

func (p *profile) sample(stack []Frame, count int64, age time.Duration, labels []Label) {
	if len(stack) == 0 {
		stack = []Frame{{Function: "(not taken down)"}}
	}
	var locations []uint64
	for _, f := range stack {
		locations = append(locations, p.location(f))
	}
	p.out.message(2, func(m *proto) { // sample
		for _, l := range locations {
			m.int(1, int64(l))
		}
		m.ints(2, count, int64(age))
		for _, l := range labels {
			m.message(3, func(m *proto) {
				m.int(1, p.string(l.Key))
				m.int(2, p.string(l.Value))
			})
		}
	})
}

func (p *profile) location(f Frame) uint64 {
	if id, ok := p.locations[f]; ok {
		return id
	}
	function := Frame{Function: f.Function, File: f.File}
	fid, ok := p.functions[function]
	if !ok {
		fid = uint64(len(p.functions) + 1)
		p.functions[function] = fid
		p.out.message(5, func(m *proto) { // function
			m.int(1, int64(fid))
			m.int(2, p.string(f.Function))
			m.int(3, p.string(f.Function))
			m.int(4, p.string(f.File))
		})
	}
	id := uint64(len(p.locations) + 1)
	p.locations[f] = id
	p.out.message(4, func(m *proto) { // location
		m.int(1, int64(id))
		m.message(4, func(m *proto) { // line
			m.int(1, int64(fid))
			m.int(2, int64(f.Line))
		})
	})
	return id
}

func (p *profile) writeTo(w io.Writer) error {
	for _, s := range p.table {
		p.out.bytes(6, []byte(s)) // string_table
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(p.out.buf); err != nil {
		return err
	}
	return z.Close()
}

// proto is a protocol buffer message in its wire format.
type proto struct{ buf []byte }

func (m *proto) varint(v uint64) {
	for v >= 0x80 {
		m.buf = append(m.buf, byte(v)|0x80)
		v >>= 7
	}
	m.buf = append(m.buf, byte(v))
}

func (m *proto) int(field int, v int64) {
	m.varint(uint64(field) << 3) // wire type 0
	m.varint(uint64(v))
}

// ints writes a packed repeated field.
func (m *proto) ints(field int, vs ...int64) {
	var packed proto
	for _, v := range vs {
		packed.varint(uint64(v))
	}
	m.bytes(field, packed.buf)
}

func (m *proto) bytes(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	m.buf = append(m.buf, b...)
}

func (m *proto) message(field int, write func(*proto)) {
	var inner proto
	write(&inner)
	m.bytes(field, inner.buf)
}
