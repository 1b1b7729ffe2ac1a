package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

const ttl = 10 * time.Second

// A deadline that counts from the receipt of the answer is late by as long as the answer took.
func TestLeaseCountsFromTheSendingOfTheKeepalive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := NewLease(began, ttl, func(context.Context) (time.Duration, error) {
			time.Sleep(2 * time.Second) // the answer is slow
			return ttl, nil
		})
		defer l.Stop()
		if got, want := l.Deadline().Sub(began), 9*time.Second; got != want {
			t.Errorf("first deadline after %v, want %v", got, want)
		}
		time.Sleep(6 * time.Second)
		if got, want := l.Deadline().Sub(began), ttl/3+9*time.Second; got != want {
			t.Errorf("deadline after one keepalive %v, want %v", got, want)
		}
		time.Sleep(time.Minute)
		if err := l.Held(); err != nil {
			t.Error(err)
		}
	})
}

func TestLeaseEndsAtItsDeadlineAndStaysOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		l := NewLease(time.Now(), ttl, func(ctx context.Context) (time.Duration, error) {
			<-late // deaf to its context, answers when it is too late
			return ttl, nil
		})
		time.Sleep(9*time.Second - time.Nanosecond)
		synctest.Wait()
		if err := l.Held(); err != nil {
			t.Fatalf("lost before the deadline: %v", err)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if l.Context().Err() == nil {
			t.Fatal("the context outlived the deadline")
		}
		close(late)
		synctest.Wait()
		if err := l.Held(); !errors.Is(err, ErrLost) {
			t.Errorf("a late answer revived the lease: %v", err)
		}
		l.Stop()
	})
}

func TestLeaseSurvivesSomeFailedKeepalives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := NewLease(time.Now(), ttl, func(ctx context.Context) (time.Duration, error) {
			if calls++; calls%3 != 0 {
				return 0, errors.New("a failover is under way")
			}
			return ttl, nil
		})
		defer l.Stop()
		time.Sleep(time.Minute)
		if err := l.Held(); err != nil {
			t.Error(err)
		}
	})
}

func TestLeaseEndsAtOnceWhenTheServerHasDroppedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := NewLease(began, ttl, func(ctx context.Context) (time.Duration, error) { return 0, ErrLost })
		<-l.Context().Done()
		if took := time.Since(began); took > ttl/3 {
			t.Errorf("told after %v", took)
		}
		l.Stop()
	})
}

// The monotonic clock stands still while a machine is suspended.
func TestLeaseNoticesThatTheMachineSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLease(time.Now(), ttl, func(ctx context.Context) (time.Duration, error) { return ttl, nil })
		l.mu.Lock()
		l.wall = time.Now().Round(0).Add(-time.Nanosecond) // as the wall clock sees it after a jump
		l.mu.Unlock()
		if err := l.Held(); !errors.Is(err, ErrLost) {
			t.Errorf("Held is %v after the wall clock passed the deadline", err)
		}
		if l.Context().Err() == nil {
			t.Error("the context did not end")
		}
		l.Stop()
	})
}
