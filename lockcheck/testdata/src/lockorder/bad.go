package lockorder

import "sync"

type account struct{ mu sync.Mutex }
type bank struct{ mu sync.Mutex }

func pay(a *account, b *bank) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b.mu.Lock() // want `lockorder.account.mu \(held since bad.go:9\) then lockorder.bank.mu \(pay, bad.go:11\); lockorder.bank.mu \(held since bad.go:16\) then lockorder.account.mu \(lockAccount, bad.go:22, called from settle at bad.go:18\)`
	defer b.mu.Unlock()
}

func settle(a *account, b *bank) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lockAccount(a)
}

func lockAccount(a *account) {
	a.mu.Lock()
	a.mu.Unlock()
}

type x struct{ mu sync.RWMutex }
type y struct{ mu sync.RWMutex }
type z struct{ mu sync.RWMutex }

func xy(a *x, b *y) {
	a.mu.RLock()
	b.mu.RLock() // want `lockorder.x.mu .* then lockorder.y.mu .*; lockorder.y.mu .* then lockorder.z.mu .*; lockorder.z.mu .* then lockorder.x.mu`
	b.mu.RUnlock()
	a.mu.RUnlock()
}

func yz(b *y, c *z) {
	b.mu.RLock()
	c.mu.RLock()
	c.mu.RUnlock()
	b.mu.RUnlock()
}

func zx(c *z, a *x) {
	c.mu.RLock()
	a.mu.RLock()
	a.mu.RUnlock()
	c.mu.RUnlock()
}

func write(a *x, b *y, c *z) {
	a.mu.Lock()
	a.mu.Unlock()
	b.mu.Lock()
	b.mu.Unlock()
	c.mu.Lock()
	c.mu.Unlock()
}
