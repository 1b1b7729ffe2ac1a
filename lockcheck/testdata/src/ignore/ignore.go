package ignore

import "sync"

type t struct{ mu sync.Mutex }

func (x *t) excused() {
	x.mu.Lock()
	x.mu.Lock() //drawbridge:ignore lockdouble the test wants the process to hang
	x.mu.Unlock()
}

func (x *t) excusedAbove() {
	x.mu.Lock()
	//drawbridge:ignore lockdouble the test wants the process to hang
	x.mu.Lock()
	x.mu.Unlock()
}

// excusedWhole hangs on purpose.
//
//drawbridge:ignore lockdouble,lockleak the test wants the process to hang
func (x *t) excusedWhole() {
	x.mu.Lock()
	if x == nil {
		return
	}
	x.mu.Lock()
	x.mu.Unlock()
}

func (x *t) noReason() {
	x.mu.Lock()
	/* want `say why lockdouble is to be ignored here` */ //drawbridge:ignore lockdouble
	x.mu.Lock()                                           // want `x.mu is taken again`
	x.mu.Unlock()
}

func (x *t) otherName() {
	x.mu.Lock()
	x.mu.Lock() /* want `x.mu is taken again` */ //drawbridge:ignore lockleak not this one
	x.mu.Unlock()
}

func (x *t) noName() {
	x.mu.Lock()
	/* want `there is no analyzer "" to be ignored` */ //drawbridge:ignore
	x.mu.Lock()                                        // want `x.mu is taken again`
	x.mu.Unlock()
}

func (x *t) wrongName() {
	x.mu.Lock()
	/* want `there is no analyzer "lockjaw" to be ignored` */ //drawbridge:ignore lockjaw it is a joke
	x.mu.Lock()                                               // want `x.mu is taken again`
	x.mu.Unlock()
}
