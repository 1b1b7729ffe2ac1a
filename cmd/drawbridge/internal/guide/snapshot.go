package guide

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// copyOnWrite: two requests load the table, a refresh replaces it in their
// midst, and both go on with the table they have.
func (g Guide) copyOnWrite() (string, error) {
	routes := g.NewSnapshot()
	build := func(version string) *Table {
		return &Table{"/orders": "orders-" + version, "/users": "users-" + version}
	}
	ctx, cancel := bounded()
	defer cancel()
	routes.Publish(build("v1"))

	refreshed := make(chan struct{})
	var loaded, all sync.WaitGroup
	handle := func(path, other string) (route string, err error) {
		t := routes.Load()
		before := (*t)[path]
		loaded.Done()
		<-refreshed
		if (*t)[path] != before || (*t)[other] != other[1:]+"-v1" {
			return "", fmt.Errorf("the table of %s changed under it: %v", path, *t)
		}
		return (*t)[path], nil
	}
	var answers [2]string
	var failed [2]error
	loaded.Add(2)
	all.Go(func() { answers[0], failed[0] = handle("/orders", "/users") })
	all.Go(func() { answers[1], failed[1] = handle("/users", "/orders") })
	err := routes.Refresh(ctx, func(context.Context) (*Table, error) {
		loaded.Wait()
		return build("v2"), nil
	})
	close(refreshed)
	all.Wait()
	if err := errors.Join(err, failed[0], failed[1]); err != nil {
		return "", err
	}
	after := *routes.Load()
	if answers != [2]string{"orders-v1", "users-v1"} || after["/orders"] != "orders-v2" || after["/users"] != "users-v2" {
		return "", fmt.Errorf("requests across the refresh got %q, the next one %v", answers, after)
	}
	return "2 requests across a refresh each saw one whole table, the next one the new table", nil
}
