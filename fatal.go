//go:build !explore

package drawbridge

import (
	"os"
	"sync"
)

// fatal ends the process over a call without the hold that it needs, as the
// standard types do. A panic would not be enough: recovered, it leaves a lock
// of which nobody knows who holds it. The runtime's fatal is not for us to
// call, so a zero sync.RWMutex is misused in our stead; the text that it ends
// with has the word "unlocked" that people search for.
func fatal(what string) {
	os.Stderr.WriteString("drawbridge: " + what + "\n")
	var victim sync.RWMutex
	victim.Unlock()
}
