package migrate_test

import (
	"context"
	"os"

	"github.com/drawbridge-go/drawbridge/lockcheck/migrate"
)

// What would change in a module, without writing anything.
func ExampleRun() {
	code := migrate.Run(context.Background(), migrate.Options{Dir: "../service", Version: "v0.1.0"}, os.Stdout, os.Stderr)
	os.Exit(code)
}
