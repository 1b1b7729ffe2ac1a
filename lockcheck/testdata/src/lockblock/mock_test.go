package lockblock

import "time"

// slowStore is what a test puts in the place of a store; what it does says nothing of the program.
type slowStore struct{}

func (slowStore) load() int {
	time.Sleep(time.Second)
	return 0
}

func newSlowShelf() *shelf { return &shelf{store: slowStore{}} }
