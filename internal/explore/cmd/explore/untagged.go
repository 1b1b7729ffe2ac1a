//go:build !explore

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "explore: build with the tag: go run -tags explore ./internal/explore/cmd/explore")
	os.Exit(2)
}
