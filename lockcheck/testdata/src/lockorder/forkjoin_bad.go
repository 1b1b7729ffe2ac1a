package lockorder

import "sync"

// What a goroutine does may still be going on, or go on in another run of the function.

type early1 struct{ mu sync.Mutex }
type early2 struct{ mu sync.Mutex }

func early() {
	var a early1
	var b early2
	var wg sync.WaitGroup
	wg.Add(1)
	wg.Wait()
	go func() {
		defer wg.Done()
		a.mu.Lock()
		b.mu.Lock() // want `locks are taken in orders that contradict one another`
		b.mu.Unlock()
		a.mu.Unlock()
	}()
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type notYet1 struct{ mu sync.Mutex }
type notYet2 struct{ mu sync.Mutex }

func notYet() {
	var a notYet1
	var b notYet2
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		wg.Done()
		a.mu.Lock()
		b.mu.Lock() // want `locks are taken in orders that contradict one another`
		b.mu.Unlock()
		a.mu.Unlock()
	}()
	wg.Wait()
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type other1 struct{ mu sync.Mutex }
type other2 struct{ mu sync.Mutex }

func other() {
	var a other1
	var b other2
	var wg sync.WaitGroup
	wg.Add(1)
	var none sync.WaitGroup
	go func() {
		defer wg.Done()
		a.mu.Lock()
		b.mu.Lock() // want `locks are taken in orders that contradict one another`
		b.mu.Unlock()
		a.mu.Unlock()
	}()
	none.Wait()
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type callers1 struct{ mu sync.Mutex }
type callers2 struct{ mu sync.Mutex }

func callers(a *callers1, b *callers2) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		a.mu.Lock()
		b.mu.Lock() // want `locks are taken in orders that contradict one another`
		b.mu.Unlock()
		a.mu.Unlock()
	}()
	wg.Wait()
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type sender1 struct{ mu sync.Mutex }
type sender2 struct{ mu sync.Mutex }

func sender() {
	var a sender1
	var b sender2
	done := make(chan bool, 2)
	go func() { done <- false }()
	go func() {
		a.mu.Lock()
		b.mu.Lock() // want `locks are taken in orders that contradict one another`
		b.mu.Unlock()
		a.mu.Unlock()
		done <- true
	}()
	<-done
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type branch1 struct{ mu sync.Mutex }
type branch2 struct{ mu sync.Mutex }

func branch(wait bool) {
	var a branch1
	var b branch2
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		a.mu.Lock()
		b.mu.Lock() // want `locks are taken in orders that contradict one another`
		b.mu.Unlock()
		a.mu.Unlock()
	}()
	if wait {
		wg.Wait()
	}
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type many1 struct{ mu sync.Mutex }
type many2 struct{ mu sync.Mutex }

func many() {
	var a many1
	var b many2
	done := make(chan bool)
	for range 2 {
		go func() {
			a.mu.Lock()
			b.mu.Lock() // want `locks are taken in orders that contradict one another`
			b.mu.Unlock()
			a.mu.Unlock()
			done <- true
		}()
	}
	<-done
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type uncounted1 struct{ mu sync.Mutex }
type uncounted2 struct{ mu sync.Mutex }

// The wait is for another group.
func uncounted() {
	var a uncounted1
	var b uncounted2
	var wg, other sync.WaitGroup
	wg.Go(func() {
		a.mu.Lock()
		b.mu.Lock() // want `locks are taken in orders that contradict one another`
		b.mu.Unlock()
		a.mu.Unlock()
	})
	other.Wait()
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}

type goesOn1 struct{ mu sync.Mutex }
type goesOn2 struct{ mu sync.Mutex }

// What a goroutine of a group starts itself, the group does not wait for.
func goesOn() {
	var a goesOn1
	var b goesOn2
	var wg sync.WaitGroup
	wg.Go(func() {
		go func() {
			a.mu.Lock()
			b.mu.Lock() // want `locks are taken in orders that contradict one another`
			b.mu.Unlock()
			a.mu.Unlock()
		}()
	})
	wg.Wait()
	b.mu.Lock()
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Unlock()
}
