//go:build !unix

package throwaway

import (
	"os"
	"syscall"
)

func unprivileged(string) (*syscall.SysProcAttr, error) { return nil, nil }

func stop(p *os.Process) { p.Kill() }
