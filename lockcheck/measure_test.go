package lockcheck

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

func TestMeasure(t *testing.T) {
	dir := os.Getenv("MEASURE")
	if dir == "" {
		t.Skip()
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Dir: dir, BuildFlags: strings.Fields(os.Getenv("MFLAGS"))}, strings.Fields(os.Getenv("PATTERN"))...)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := os.Create("/work/scratch-lockcheck/cpu.prof")
	pprof.StartCPUProfile(f)
	time.AfterFunc(40*time.Second, func() {
		pprof.StopCPUProfile()
		f.Close()
		if os.Getenv("STOP") != "" {
			os.Exit(1)
		}
	})
	start := time.Now()
	graph, err := checker.Analyze(Analyzers, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("analyzed in", time.Since(start))
	for _, root := range graph.Roots {
		if root.Err != nil {
			fmt.Println("ERR", root.Err)
		}
		for _, d := range root.Diagnostics {
			p := root.Package.Fset.Position(d.Pos)
			fmt.Printf("%s\t%s\t%s\t%s\n", root.Analyzer.Name, d.Category, strings.TrimPrefix(p.String(), dir+"/"), d.Message)
		}
	}
}
