package lockcheck_test

import (
	"fmt"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/drawbridge-go/drawbridge/lockcheck"
)

// The main function of a vet tool of your own: go vet -vettool=… ./…
func Example() {
	main := func() { unitchecker.Main(lockcheck.Analyzers...) }
	_ = main

	for _, a := range lockcheck.Errors { // the analyzers whose findings are errors
		fmt.Println(a.Name)
	}
	// Output:
	// ctxlockerr
	// lockdouble
	// lockupgrade
	// lockrecursive
	// lockleak
	// unlockunheld
	// lockstringer
}
