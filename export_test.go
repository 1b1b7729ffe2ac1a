package drawbridge

// Striped reports whether rw counts its readers in stripes.
func Striped(rw *RWMutex) bool { return rw.core.state.Load()&striped != 0 }

// Stripes returns how many stripes rw has.
func Stripes(rw *RWMutex) int { return len(*rw.core.stripes.Load()) }

// Table is how full a hash table of a Keyed is.
type Table struct{ Keys, Buckets, Longest int }

// Tables returns those of k.
func Tables[K comparable](k *Keyed[K]) []Table {
	tables := make([]Table, len(k.parts))
	for i := range k.parts {
		p, t := &k.parts[i], &tables[i]
		t.Keys, t.Buckets = p.len, len(p.buckets)
		for _, e := range p.buckets {
			n := 0
			for ; e != nil; e = e.next {
				n++
			}
			t.Longest = max(t.Longest, n)
		}
	}
	return tables
}

// RaceEnabled says that every step is slower by far.
const RaceEnabled = raceEnabled
