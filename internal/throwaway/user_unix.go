//go:build unix

package throwaway

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Unprivileged returns who is to run PostgreSQL, which refuses root, and gives
// them the folder. It is nil for the user of this process.
func Unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		who := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return who, os.Chown(dir, int(uid), int(gid))
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as")
}

// stop ends PostgreSQL at once, with all of its processes.
func stop(p *os.Process) { p.Signal(syscall.SIGQUIT) }
