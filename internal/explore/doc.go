// Package explore runs small programs on the locks in every order that a
// machine could, and checks each of them.
//
// It runs the locks themselves: built with the tag explore, they stop at a
// scheduler before every step that another goroutine could see (see
// sched_explore.go in the package of the locks). What they must do is written
// down in spec.go, from the contract and not from the code.
//
//	go run -tags explore ./internal/explore/cmd/explore -h
package explore
