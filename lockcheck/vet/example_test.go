package vet_test

import (
	"context"
	"os"

	"github.com/drawbridge-go/drawbridge/lockcheck/vet"
)

// The main function of a program that looks at packages: go vet runs it anew for each of them.
func ExampleRun() {
	if vet.IsTool(os.Args) {
		vet.Tool()
	}
	code := vet.Run(context.Background(), vet.Options{Packages: []string{"./..."}, Depth: 2}, os.Stdout, os.Stderr)
	os.Exit(code)
}
