package sched

// Hash is a hash of a state. Two states of one program that are different have
// the same one with a probability of 2^-64.
type Hash struct{ sum uint64 }

// Add adds a value.
func (h *Hash) Add(v uint64) { h.sum = mix(h.sum, v) }

// Bool adds a flag.
func (h *Hash) Bool(b bool) {
	if b {
		h.Add(1)
	} else {
		h.Add(2)
	}
}

// Sum returns the hash.
func (h *Hash) Sum() uint64 { return h.sum }

func mix(h, v uint64) uint64 {
	h ^= v + 0x9e3779b97f4a7c15 + h<<6 + h>>2
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 29
	h *= 0xa0761d6478bd642f
	return h ^ h>>32
}
