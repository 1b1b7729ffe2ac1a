package vet

import (
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/drawbridge-go/drawbridge/lockcheck"
)

// IsTool reports whether the arguments of a process, its name first, are those with which go vet runs a tool.
func IsTool(args []string) bool {
	if len(args) < 2 {
		return false
	}
	last := args[len(args)-1]
	return strings.HasSuffix(last, ".cfg") || len(args) == 2 && (last == "-V=full" || last == "-flags")
}

// Tool is what go vet expects of a tool. It exits. Without a flag that names an analyzer, those run whose
// findings are errors, and what is no error is left out.
func Tool() {
	if !named(os.Args[1:]) {
		args := []string{os.Args[0]}
		for _, a := range lockcheck.Errors {
			args = append(args, "-"+a.Name, "-"+a.Name+".level="+lockcheck.Error)
		}
		if last := os.Args[len(os.Args)-1]; strings.HasSuffix(last, ".cfg") {
			os.Args = append(args, os.Args[1:]...)
		}
	}
	// go vet runs a tool for each core, and the garbage of a large package can be as large as what is live.
	debug.SetMemoryLimit(2 << 30)
	unitchecker.Main(lockcheck.Analyzers...)
}

// named reports whether the arguments switch an analyzer on.
func named(args []string) bool {
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		for _, a := range lockcheck.Analyzers {
			if name == a.Name && value != "false" && strings.HasPrefix(arg, "-") {
				return true
			}
		}
	}
	return false
}
