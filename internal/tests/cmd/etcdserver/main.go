// Command etcdserver runs an etcd for experiments in a clone of the repository, where none is installed:
//
//	go run ./internal/tests/cmd/etcdserver
//
// It prints one line, the endpoints, and runs until its standard input ends or it is interrupted. Its data goes with it.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/drawbridge-go/drawbridge/internal/tests/etcdserver"
)

func main() {
	members := flag.Int("members", 1, "how many members")
	sync := flag.Bool("sync", false, "sync the data to disk, as an etcd does that has to keep it")
	flag.Parse()
	if err := run(*members, *sync); err != nil {
		fmt.Fprintln(os.Stderr, "etcdserver:", err)
		os.Exit(1)
	}
}

func run(members int, sync bool) error {
	if members < 1 || members > 7 {
		return fmt.Errorf("-members is %d; give 1 to 7", members)
	}
	dir, err := os.MkdirTemp("", "drawbridge-etcd")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plan, err := etcdserver.Plan(members, dir)
	if err != nil {
		return err
	}
	for i := range plan {
		plan[i].Sync = sync
	}
	c, err := etcdserver.StartAll(plan)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println(strings.Join(c.Endpoints, ","))

	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		end <- os.Interrupt
	}()
	<-end
	return nil
}
