package etcd

import (
	"encoding/json"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// meta is the value of a lock's key.
type meta struct {
	cluster.Owner
	Since time.Time `json:"since"`
	// Downgraded: the writer has become a reader in its old place. A key of its own would come after writers
	// that wait already, and they would not wait for it.
	Downgraded bool `json:"downgraded,omitempty"`
}

func (m meta) encode() string {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings, numbers and a time of this century
	}
	return string(data)
}

// decodeMeta takes what it understands: a key in the way is a key in the way, whoever wrote it.
func decodeMeta(data []byte) (m meta) {
	if json.Unmarshal(data, &m) != nil {
		return meta{}
	}
	return m
}
