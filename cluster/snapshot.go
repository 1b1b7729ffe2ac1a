package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// A Codec turns values into what is stored and back. A nil function means JSON.
type Codec[T any] struct {
	Encode func(T) ([]byte, error)
	Decode func([]byte) (T, error)
}

func (c Codec[T]) encode(v T) ([]byte, error) {
	encode := c.Encode
	if encode == nil {
		encode = func(v T) ([]byte, error) { return json.Marshal(v) }
	}
	data, err := encode(v)
	if err == nil && len(data) > MaxValue {
		err = fmt.Errorf("%w (it has %d)", ErrTooLarge, len(data))
	}
	return data, err
}

// decode turns a panic into an error: what another process published must not end this one.
func (c Codec[T]) decode(data []byte) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if c.Decode != nil {
		return c.Decode(data)
	}
	err = json.Unmarshal(data, &v)
	return v, err
}

// A Snapshot is a value that some processes publish and all of them read, each from its own memory. A process sees
// versions that only rise, perhaps not all of them, and the last one in the end; two processes may see a change at
// different moments. For data that is read far more often than it changes this, and not a read lock across machines,
// is what you want: a read costs one atomic load and no message.
type Snapshot[T any] struct {
	engine Engine
	name   string
	codec  Codec[T]
	cancel context.CancelFunc
	ended  chan struct{}

	current atomic.Pointer[version[T]] // nil before the first value

	mu      sync.Mutex
	seen    uint64                    // the highest version looked at, which may be one that cannot be decoded
	bad     error                     // why current is not the version seen
	status  drawbridge.SnapshotStatus // of current, and of the connection
	asOf    time.Time
	changed chan struct{} // closed and made anew with each new version
}

// version is immutable once it is current.
type version[T any] struct {
	value  T
	number uint64
}

// NewSnapshot follows the value called name and returns after the first look, which ctx bounds. There need not be a
// value yet. The zero Codec is JSON. Close must be called in the end.
func NewSnapshot[T any](ctx context.Context, engine Engine, name string, codec Codec[T]) (*Snapshot[T], error) {
	if err := ValidName(name); err != nil {
		return nil, err
	}
	s := &Snapshot[T]{engine: engine, name: name, codec: codec, ended: make(chan struct{}), changed: make(chan struct{})}
	if err := s.Sync(ctx); err != nil {
		return nil, err
	}
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go s.follow(watch)
	return s, nil
}

// Load returns the newest value that this process knows, and its version. ok is false before there is any. It is one
// atomic load; the value is shared by all readers, so it must not be changed.
func (s *Snapshot[T]) Load() (value T, number uint64, ok bool) {
	v := s.current.Load()
	if v == nil {
		return value, 0, false
	}
	return v.value, v.number, true
}

// Publish replaces the value whatever it is now and returns the new version. A Load after it returns this version or
// a newer one. After an error other than ErrTooLarge it is not known whether the value was replaced.
func (s *Snapshot[T]) Publish(ctx context.Context, v T) (uint64, error) {
	return s.store(ctx, v, Condition{})
}

// PublishHeld is Publish that the engine carries out only while the write hold stands: a holder that was paused past
// its lease gets ErrLost and changes nothing.
func (s *Snapshot[T]) PublishHeld(ctx context.Context, h *Hold, v T) (uint64, error) {
	if h.locker.engine != s.engine {
		return 0, errors.New("drawbridge: PublishHeld needs a hold of the engine that keeps the snapshot")
	}
	if h.Mode() != Write {
		return 0, errors.New("drawbridge: PublishHeld needs a write hold")
	}
	if err := h.Held(); err != nil {
		return 0, err
	}
	number, err := s.store(ctx, v, Condition{Held: h.Claim()})
	if errors.Is(err, ErrConflict) {
		return 0, fmt.Errorf("%w: its token does not stand any more", ErrLost)
	}
	return number, err
}

// Update replaces the value by what change makes of it, if nobody published in between; else it reads again and calls
// change again. change gets the zero T if there is no value yet. An error of change ends it.
func (s *Snapshot[T]) Update(ctx context.Context, change func(context.Context, T) (T, error)) (uint64, error) {
	for {
		old, err := s.engine.Value(ctx, s.name)
		if err != nil {
			return 0, err
		}
		var v T
		if old.Version > 0 {
			if v, err = s.codec.decode(old.Data); err != nil {
				return 0, fmt.Errorf("drawbridge: decoding version %d of snapshot %q: %w", old.Version, s.name, err)
			}
		}
		if v, err = change(ctx, v); err != nil {
			return 0, err
		}
		number, err := s.store(ctx, v, Condition{At: &old.Version})
		if !errors.Is(err, ErrConflict) {
			return number, err
		}
		if ctx.Err() != nil {
			return 0, whyDone(ctx)
		}
	}
}

func (s *Snapshot[T]) store(ctx context.Context, v T, cond Condition) (uint64, error) {
	data, err := s.codec.encode(v)
	if err != nil {
		return 0, err
	}
	number, err := s.engine.Store(ctx, s.name, data, cond)
	if err != nil {
		return 0, err
	}
	s.apply(&Value{Data: data, Version: number})
	return number, nil
}

// Wait returns the value as soon as its version is above after.
func (s *Snapshot[T]) Wait(ctx context.Context, after uint64) (value T, number uint64, err error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if v := s.current.Load(); v != nil && v.number > after {
			return v.value, v.number, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return value, 0, whyDone(ctx)
		case <-s.ended:
			return value, 0, ErrClosed
		}
	}
}

// Sync asks the engine and returns when every Publish that had returned before the call, in any process, is seen by
// Load, except a value that cannot be decoded.
func (s *Snapshot[T]) Sync(ctx context.Context) error {
	v, err := s.engine.Value(ctx, s.name)
	if err != nil {
		return err
	}
	if v.Version == 0 {
		s.apply(nil)
	} else {
		s.apply(&v)
	}
	return nil
}

// Status says which version Load returns and since when this process has it. Err says why it may be an old one: the
// engine cannot be reached, the newest value cannot be decoded, or it was deleted; Failed and Failures are of the
// connection alone.
func (s *Snapshot[T]) Status() drawbridge.SnapshotStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	if st.Err == nil {
		st.Err = s.bad
	}
	if st.Version != 0 {
		st.Age = time.Since(st.Published)
	}
	return st
}

// AsOf is when the engine last confirmed that nothing was newer than what this process had seen.
func (s *Snapshot[T]) AsOf() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asOf
}

// Close ends the following of the value and returns when its goroutine has ended. Load goes on returning the last one.
func (s *Snapshot[T]) Close() error {
	s.cancel()
	<-s.ended
	return nil
}

// follow watches until Close, and again after each break.
func (s *Snapshot[T]) follow(ctx context.Context) {
	defer close(s.ended)
	const shortest = 50 * time.Millisecond
	pause := shortest
	for {
		s.mu.Lock()
		after := s.seen
		s.mu.Unlock()
		err := s.engine.Watch(ctx, s.name, after, func(v *Value) {
			pause = shortest
			s.apply(v)
		})
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		s.status.Err = fmt.Errorf("drawbridge: following snapshot %q: %w", s.name, err)
		s.status.Failed = time.Now()
		s.status.Failures++
		s.mu.Unlock()
		// With jitter, so that a thousand processes do not come back at once.
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// apply takes what the engine said, if it is news. nil says that nothing is newer.
func (s *Snapshot[T]) apply(v *Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asOf, s.status.Err, s.status.Failures = time.Now(), nil, 0
	if v == nil || v.Version <= s.seen {
		return
	}
	s.seen = v.Version
	if v.Deleted {
		s.bad = fmt.Errorf("drawbridge: snapshot %q was deleted at version %d; the value before it is kept", s.name, v.Version)
		return
	}
	value, err := s.codec.decode(v.Data)
	if err != nil {
		s.bad = fmt.Errorf("drawbridge: decoding version %d of snapshot %q; the value before it is kept: %w", v.Version, s.name, err)
		return
	}
	s.bad = nil
	s.status.Version, s.status.Published = v.Version, s.asOf
	s.current.Store(&version[T]{value, v.Version})
	close(s.changed)
	s.changed = make(chan struct{})
}
