package lockorder

import (
	"context"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
)

// What a goroutine has done is over where its function has waited for it.

type group1 struct{ mu sync.Mutex }
type group2 struct{ mu sync.Mutex }

func waitGroup() {
	var a group1
	var b group2
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		a.mu.Lock()
		b.mu.Lock()
		b.mu.Unlock()
		a.mu.Unlock()
	}()
	wg.Wait()
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type closed1 struct{ mu sync.Mutex }
type closed2 struct{ mu sync.Mutex }

func closedChannel() {
	a, b := &closed1{}, &closed2{}
	done := make(chan struct{})
	go func() {
		a.mu.Lock()
		b.mu.Lock()
		b.mu.Unlock()
		a.mu.Unlock()
		close(done)
	}()
	<-done
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type sent1 struct{ mu sync.Mutex }
type sent2 struct{ mu sync.Mutex }

func sentResult() int {
	var a sent1
	var b sent2
	result := make(chan int)
	go func() {
		a.mu.Lock()
		b.mu.Lock()
		b.mu.Unlock()
		a.mu.Unlock()
		result <- 1
	}()
	n := <-result
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
	return n
}

type test1 struct{ mu sync.Mutex }
type test2 struct{ mu sync.Mutex }

// A test runs once.
func TestOnce(t *testing.T) {
	a, b := shared()
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			a.mu.Lock()
			b.mu.Lock()
			b.mu.Unlock()
			a.mu.Unlock()
		}()
	}
	wg.Wait()
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

func shared() (*test1, *test2) { return theTest1, theTest2 }

var (
	theTest1 = &test1{}
	theTest2 = &test2{}
)

type counted1 struct{ mu sync.Mutex }
type counted2 struct{ mu sync.Mutex }

func counted() {
	var a counted1
	var b counted2
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			b.mu.Lock()
			defer b.mu.Unlock()
		})
	}
	wg.Wait()
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type failing1 struct{ mu sync.Mutex }
type failing2 struct{ mu sync.Mutex }

func failing(ctx context.Context) error {
	a, b := &failing1{}, &failing2{}
	g, _ := errgroup.WithContext(ctx)
	g.Go(func() error {
		a.mu.Lock()
		b.mu.Lock()
		b.mu.Unlock()
		a.mu.Unlock()
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
	return nil
}
