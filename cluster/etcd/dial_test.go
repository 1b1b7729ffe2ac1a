package etcd

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Something listens and never answers. With a password Dial has a question, and the client's default is to wait for ever.
func TestDialWithAPasswordGivesUp(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	got := make(chan error, 1)
	go func() {
		_, err := Dial(clientv3.Config{Endpoints: []string{deaf.Addr().String()}, Username: "u", Password: "p"}, Options{})
		got <- err
	}()
	select {
	case err := <-got:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Dial is still waiting")
	}
}
