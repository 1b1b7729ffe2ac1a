package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

// A user with read and write on the prefix, and nothing else, can do all that the engine does; a wrong password is an
// error at once, and one that does not show it.
func TestUserWithThePrefixAlone(t *testing.T) {
	s := start(t, 1)
	admin := dial(t, s.Endpoints[0])
	ctx := rig.Within(t, time.Minute)
	step := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	step(admin.UserAdd(ctx, "root", "rootpw"))
	step(admin.UserGrantRole(ctx, "root", "root"))
	step(admin.RoleAdd(ctx, "locks"))
	step(admin.RoleGrantPermission(ctx, "locks", "team/", clientv3.GetPrefixRangeEnd("team/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	step(admin.UserAdd(ctx, "app", "p@ss word"))
	step(admin.UserGrantRole(ctx, "app", "locks"))
	step(admin.AuthEnable(ctx))

	engine, err := etcd.Open("etcd://app:p%40ss%20word@" + s.Endpoints[0] + "/team/")
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	l := rig.NewLocker(t, engine, 10*time.Second)
	h := rig.Locked(t, l, "n")
	n, err := cluster.NewSnapshot(ctx, engine, "v", cluster.Codec[int]{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if _, err := n.PublishHeld(ctx, h, 1); err != nil {
		t.Error(err)
	}
	if st, err := l.State(ctx, "n"); err != nil || len(st.Holders) != 1 {
		t.Errorf("state %+v, %v", st, err)
	}
	for name, err := range l.Names(ctx, "") {
		if err != nil || name != "n" {
			t.Errorf("names: %q, %v", name, err)
		}
	}
	if err := h.Downgrade(ctx); err != nil {
		t.Error(err)
	}
	rig.Unlocked(t, h)

	for _, url := range []string{"etcd://app:secret@" + s.Endpoints[0] + "/team/", "etcd://" + s.Endpoints[0] + "/team/", "etcd://app:p%40ss%20word@" + s.Endpoints[0] + "/others/"} {
		began := time.Now()
		err := refused(t, url)
		if err == nil {
			t.Errorf("no error")
			continue
		}
		if errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
			t.Errorf("refused after %v: %v", time.Since(began), err)
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "p@ss") {
			t.Errorf("the error shows the password: %v", err)
		}
		t.Log(err)
	}
}

func refused(t *testing.T, url string) error {
	engine, err := etcd.Open(url)
	if err != nil {
		return err
	}
	defer engine.Close()
	l := rig.NewLocker(t, engine, 2*time.Second)
	defer l.Close()
	_, err = l.Lock(rig.Within(t, 20*time.Second), "n")
	return err
}
