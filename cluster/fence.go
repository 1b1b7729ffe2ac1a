package cluster

import (
	"fmt"
	"sync"
)

// Token is a fencing token. It rises with each write hold of a name; a read hold's token is at least that of every
// write hold before it and below that of every write hold after it. Tokens are compared within one name only.
type Token int64

// A Fence stands beside the data that one lock protects, where the data is kept, and refuses operations that come too
// late: from a holder that was paused past its lease, or over a slow network. It runs each operation under its check,
// so that nothing comes between the two. The zero value is ready.
//
// The rule: write(t) needs t ≥ every write token seen and t > every read token seen; read(t) needs t ≥ every write
// token seen. Readers are recorded so that a late writer cannot change data under a later reader. So the holder of a
// write lock does its reads under [Fence.Write] too: a read under its token says that it has finished writing, as
// after [Hold.Downgrade].
//
// For data in a table write the rule into the statement, in the transaction of the change (zero rows mean ErrStale);
// for data in etcd compare in its transaction. The engines' packages have both.
type Fence struct {
	// Save, if not nil, stores the state beside the data, durably, before an operation that raises it is run.
	// If it fails the operation is not run. A fence that outlives its process needs it; see Restore.
	Save func(FenceState) error

	operations sync.RWMutex // writes alone, reads together

	mu    sync.Mutex
	state FenceState
}

// FenceState is what a fence remembers, to be stored with the data.
type FenceState struct {
	Write Token `json:"write"` // the highest that wrote
	Read  Token `json:"read"`  // the highest that read
}

// Restore raises the state to s, which was saved.
func (f *Fence) Restore(s FenceState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = FenceState{Write: max(f.state.Write, s.Write), Read: max(f.state.Read, s.Read)}
}

// State returns what the fence remembers. It may be called within an operation.
func (f *Fence) State() FenceState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Write runs operation alone if the token is still good to write with. Otherwise the error matches ErrStale and it is not run.
func (f *Fence) Write(token Token, operation func() error) error {
	f.operations.Lock()
	defer f.operations.Unlock()
	if err := f.pass(token, Write); err != nil {
		return err
	}
	return operation()
}

// Read runs operation, beside other reads, if the token is still good to read with. Otherwise the error matches ErrStale and it
// is not run.
func (f *Fence) Read(token Token, operation func() error) error {
	f.operations.RLock()
	defer f.operations.RUnlock()
	if err := f.pass(token, Read); err != nil {
		return err
	}
	return operation()
}

func (f *Fence) pass(token Token, mode Mode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.state
	if token <= 0 || token < s.Write || mode == Write && token <= s.Read {
		return fmt.Errorf("%w: %s with token %d after write %d and read %d", ErrStale, mode, token, s.Write, s.Read)
	}
	if mode == Write {
		s.Write = token
	} else {
		s.Read = max(s.Read, token)
	}
	if s != f.state && f.Save != nil {
		if err := f.Save(s); err != nil {
			return fmt.Errorf("drawbridge: saving the state of the fence: %w", err)
		}
	}
	f.state = s
	return nil
}
