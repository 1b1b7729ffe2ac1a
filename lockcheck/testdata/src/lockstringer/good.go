package lockstringer

import (
	"fmt"
	"log"
)

func (c *cache) before() {
	s := c.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	log.Print(s)
}

func (c *cache) address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%p has %d", c, c.n)
}

func (c *cache) other(d *cache) {
	c.mu.Lock()
	defer c.mu.Unlock()
	log.Print(d)
}
