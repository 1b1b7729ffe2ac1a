package rig

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
)

type step struct {
	mode    cluster.Mode
	release bool
}

type lockState struct {
	writer  bool
	readers int
}

// lockModel is a read-write lock: what it may never do, whatever the order of the calls that overlap.
var lockModel = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, in := state.(lockState), input.(step)
		switch {
		case in.release && in.mode == cluster.Write:
			return s.writer, lockState{false, s.readers}
		case in.release:
			return s.readers > 0, lockState{s.writer, s.readers - 1}
		case in.mode == cluster.Write:
			return !s.writer && s.readers == 0, lockState{true, 0}
		default:
			return !s.writer, lockState{false, s.readers + 1}
		}
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// Linearizable checks the history of each name. A hold that was lost ended by itself at some moment after it was asked
// for and before its holder knew; a call that was given up had no effect.
func Linearizable(h clustertest.History) error {
	ops := make(map[string][]porcupine.Operation)
	for _, a := range h.Attempts {
		if a.Outcome == clustertest.GaveUp {
			continue
		}
		if a.Outcome == clustertest.Lost {
			a.Answered = a.Left // the grant was not known to stand at any moment in between
		}
		ops[a.Name] = append(ops[a.Name],
			porcupine.Operation{ClientId: a.Client, Input: step{a.Mode, false}, Call: int64(a.Asked), Return: int64(a.Answered)},
			porcupine.Operation{ClientId: a.Client, Input: step{a.Mode, true}, Call: int64(a.Leaving), Return: int64(a.Left)})
	}
	for name, history := range ops {
		switch porcupine.CheckOperationsTimeout(lockModel, history, time.Minute) {
		case porcupine.Illegal:
			return fmt.Errorf("%q: a history of %d operations is not that of a read-write lock", name, len(history))
		case porcupine.Unknown:
			return fmt.Errorf("%q: a history of %d operations could not be checked in time", name, len(history))
		}
	}
	return nil
}
