// Command lockcheck is the lock analyzers as a tool for go vet:
//
//	go vet -vettool=$(which lockcheck) ./...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/drawbridge-go/drawbridge/lockcheck"
)

func main() { unitchecker.Main(lockcheck.Analyzers...) }
