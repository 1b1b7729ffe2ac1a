// Command lockcheck finds misuse of locks. By itself it looks at packages and shows what it finds:
//
//	lockcheck [-json | -sarif] [-strict] [-baseline FILE] ./...
//
// and it is a tool for go vet, which then runs the analyzers whose findings are errors, and others by name:
//
//	go vet -vettool=$(which lockcheck) ./...
//	go vet -vettool=$(which lockcheck) -lockorder ./...
//
// What an analyzer finds, with an example and its remedy, is shown by
//
//	lockcheck help lockdouble
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"strings"

	"github.com/drawbridge-go/drawbridge/lockcheck/vet"
)

func main() {
	if vet.IsTool(os.Args) || len(os.Args) > 1 && os.Args[1] == "help" {
		vet.Tool()
	}
	var o vet.Options
	flag.BoolVar(&o.JSON, "json", false, "print the findings as JSON")
	flag.BoolVar(&o.SARIF, "sarif", false, "print the findings as SARIF 2.1.0")
	flag.BoolVar(&o.Strict, "strict", false, "exit with 1 for warnings too")
	flag.BoolVar(&o.Info, "info", false, "show also what is only worth knowing")
	flag.BoolVar(&o.Fix, "fix", false, "apply the fixes of the analyzers named with -only")
	flag.BoolVar(&o.WriteBaseline, "write-baseline", false, "write the baseline file from what is found now")
	flag.StringVar(&o.Baseline, "baseline", "", "a `file` of findings that are known")
	flag.StringVar(&o.Tags, "tags", "", "build `tags`, as for go build")
	flag.IntVar(&o.Depth, "depth", 2, "how many functions away lockblock looks for a wait")
	only := flag.String("only", "", "run only these analyzers, separated by commas")
	flag.Parse()
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	o.Packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(vet.Run(ctx, o, os.Stdout, os.Stderr))
}
