package lockblock

import (
	"net/http"
	"os/exec"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

type hub struct {
	mu   sync.Mutex
	c    chan int
	done chan struct{}
	wg   sync.WaitGroup
	cond *sync.Cond
	in   sync.Mutex
}

func (h *hub) send() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.c <- 1 // want `send on h.c while h.mu, locked at bad.go:22, is held: here`
}

func (h *hub) receive() {
	h.mu.Lock()
	<-h.c // want `receive from h.c while h.mu`
	h.mu.Unlock()
}

func (h *hub) selects() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select { // want `select while h.mu`
	case h.c <- 1:
	case <-h.done:
	}
}

func (h *hub) sleeps() {
	h.mu.Lock()
	time.Sleep(time.Second) // want `time.Sleep while h.mu`
	h.mu.Unlock()
}

func (h *hub) waits() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wg.Wait() // want `\(\*sync.WaitGroup\).Wait while h.mu`
}

func (h *hub) oneHop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.put() // want `send on h.c while h.mu, locked at bad.go:55, is held: in \(\*hub\).put at bad.go:60`
}

func (h *hub) put() { h.c <- 1 }

func (h *hub) fetch() {
	h.mu.Lock()
	defer h.mu.Unlock()
	http.Get("http://localhost") // want `net/http.Get while h.mu`
}

func (h *hub) run() {
	h.mu.Lock()
	defer h.mu.Unlock()
	exec.Command("true").Run() // want `\(\*os/exec.Cmd\).Run while h.mu`
}

func (h *hub) condUnderOther() {
	h.cond = sync.NewCond(&h.in)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.in.Lock()
	h.cond.Wait() // want `\(\*sync.Cond\).Wait while h.mu`
	h.in.Unlock()
}

func bridge(mu *drawbridge.Mutex, c chan int) {
	mu.Lock()
	defer mu.Unlock()
	c <- 1 // want `send on c while mu`
}
