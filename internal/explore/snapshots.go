//go:build explore

package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// The values of these snapshots are the names of all changes that led to them,
// so that a lost one is seen.

type history []string

func with(old *history, change string) *history {
	var h history
	if old != nil {
		h = slices.Clone(*old)
	}
	h = append(h, change)
	return &h
}

func (h *history) has(change string) bool { return h != nil && slices.Contains(*h, change) }

var errBuild = errors.New("the build failed")

func snapshotScenarios() (all []Scenario) {
	add := func(name string, most int, build func(*scene, *drawbridge.Snapshot[history])) {
		all = append(all, Scenario{"snapshot/" + name, most, func() sched.World {
			s := new(scene)
			v := new(drawbridge.Snapshot[history])
			build(s, v)
			end := s.end
			s.end = func() error { return errors.Join(end(), usable(v)) }
			return s
		}})
	}
	update := func(v *drawbridge.Snapshot[history], ctx context.Context, change string) error {
		return v.Update(ctx, func(_ context.Context, old *history) (*history, error) {
			sched.Step(nil)
			return with(old, change), nil
		})
	}

	add("updates and a publish", 3, func(s *scene, v *drawbridge.Snapshot[history]) {
		s.actor(func() { must(update(v, background, "a") == nil, "Update failed") })
		s.actor(func() { must(update(v, background, "b") == nil, "Update failed") })
		s.actor(func() { v.Publish(with(nil, "p")) })
		s.end = func() error {
			h := v.Load()
			if !h.has("p") || h.has("a") && h.has("b") && len(*h) != 3 {
				return fmt.Errorf("a change is lost: %v", *h)
			}
			if version := v.Status().Version; version != 3 {
				return fmt.Errorf("three values were published and the version is %d", version)
			}
			return nil
		}
	})

	add("two updates", 3, func(s *scene, v *drawbridge.Snapshot[history]) {
		ctx := s.ending()
		var given error
		s.actor(func() { given = update(v, ctx, "a") })
		s.actor(func() { must(update(v, background, "b") == nil, "Update failed") })
		s.actor(func() { must(update(v, background, "c") == nil, "Update failed") })
		s.end = func() error {
			h := v.Load()
			if !h.has("b") || !h.has("c") || h.has("a") != (given == nil) {
				return fmt.Errorf("a change is lost, or one that failed is there: %v, %v", *h, given)
			}
			return nil
		}
	})

	add("a refresh whose first caller gives up", 2, func(s *scene, v *drawbridge.Snapshot[history]) {
		ctx := s.ending()
		build := func(ctx context.Context) (*history, error) {
			sched.Step(nil)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return with(nil, "built"), nil
		}
		s.actor(func() {
			if err := v.Refresh(ctx, build); err != nil {
				must(errors.Is(err, context.Canceled) && ctx.err != nil, "Refresh: %v", err)
			}
		})
		s.actor(func() {
			err := v.Refresh(background, build)
			must(err == nil, "the end of another caller's context ended a refresh: %v", err)
			must(v.Load().has("built"), "Refresh returned before the value was there")
		})
		s.end = func() error { return v.Status().Err }
	})

	add("a refresh, a publish and an update", 2, func(s *scene, v *drawbridge.Snapshot[history]) {
		source := "old" // what a build reads
		s.actor(func() {
			err := v.Refresh(background, func(context.Context) (*history, error) {
				h := with(nil, source)
				sched.Step(nil)
				return h, nil
			})
			must(err == nil, "Refresh: %v", err)
		})
		s.actor(func() { source = "new"; v.Publish(with(nil, "new")) })
		s.actor(func() { must(update(v, background, "u") == nil, "Update failed") })
		s.end = func() error {
			if h := v.Load(); h.has("old") {
				return fmt.Errorf("a build that began before a publish replaced it: %v", *h)
			}
			return nil
		}
	})

	add("a build that fails and one that does not", 2, func(s *scene, v *drawbridge.Snapshot[history]) {
		builds, failed := 0, 0
		for range 2 {
			s.actor(func() {
				err := v.Refresh(background, func(context.Context) (*history, error) {
					if builds++; builds == 1 {
						panic(errBuild)
					}
					return with(nil, "built"), nil
				})
				if err != nil {
					must(strings.Contains(err.Error(), errBuild.Error()), "Refresh: %v", err)
					failed++
				}
			})
		}
		s.end = func() error {
			st := v.Status()
			if failed == 0 || (st.Err != nil) != (builds == 1) || st.Refreshing || (v.Load() != nil) != (builds == 2) {
				return fmt.Errorf("%d of 2 refreshes failed in %d builds and the status is %+v", failed, builds, st)
			}
			return nil
		}
	})

	add("wait and publish", 3, func(s *scene, v *drawbridge.Snapshot[history]) {
		ctx := s.ending()
		s.actor(func() {
			_, first, err := v.Wait(background, 0)
			must(err == nil && first > 0, "Wait: %d, %v", first, err)
			if first < 2 {
				h, second, err := v.Wait(background, first)
				must(err == nil && second == 2 && h.has("two"), "Wait for the second value: %d, %v", second, err)
			}
		})
		s.actor(func() {
			_, version, err := v.Wait(ctx, 1)
			must(err == nil && version == 2 || errors.Is(err, context.Canceled), "Wait: %d, %v", version, err)
		})
		s.actor(func() { v.Publish(with(nil, "one")); v.Publish(with(v.Load(), "two")) })
		s.end = func() error { return nil }
	})

	add("an update inside an update", 2, func(s *scene, v *drawbridge.Snapshot[history]) {
		s.actor(func() {
			v.Update(background, func(ctx context.Context, old *history) (*history, error) {
				must(update(v, ctx, "inner") == drawbridge.ErrReentrant, "an update inside an update did not fail")
				err := v.Refresh(ctx, nil)
				must(err == drawbridge.ErrReentrant, "a refresh inside an update: %v", err)
				return with(old, "outer"), nil
			})
		})
		s.actor(func() { must(update(v, background, "b") == nil, "Update failed") })
		s.end = func() error {
			if h := v.Load(); !h.has("outer") || !h.has("b") || h.has("inner") {
				return fmt.Errorf("a change is lost or one is there that failed: %v", *h)
			}
			return nil
		}
	})
	return all
}

// usable checks that nothing of the calls is left: an update that had to wait
// would have nobody to wait for.
func usable(v *drawbridge.Snapshot[history]) error {
	return v.Update(background, func(_ context.Context, old *history) (*history, error) { return with(old, "end"), nil })
}
