//go:build !unix

package throwaway

import (
	"os"
	"syscall"
)

// Unprivileged is for PostgreSQL, which refuses root; here nobody is root.
func Unprivileged(string) (*syscall.SysProcAttr, error) { return nil, nil }

func stop(p *os.Process) { p.Kill() }
