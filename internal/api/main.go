// Command api compares the public API of every module with the record of it
// in docs/api.txt, which has a line for each thing that a program can name.
//
//	go run ./internal/api            # fails when they differ, and says where
//	go run ./internal/api -record    # writes the record anew
//
// A line that is gone breaks programs; a new one is a promise. Both belong
// into the commit that makes them, where a reviewer sees them.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	file := flag.String("file", "docs/api.txt", "the `record`")
	record := flag.Bool("record", false, "write the record instead of comparing with it")
	flag.Parse()
	if err := run(*file, *record, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(file string, record bool, w io.Writer) error {
	packages, err := load("work")
	if err != nil {
		return err
	}
	var lines []string
	for _, p := range packages {
		lines = append(lines, describe(p)...)
	}
	if record {
		return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o666)
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w; go run ./internal/api -record writes it", err)
	}
	gone, added := compare(strings.Split(strings.TrimSpace(string(recorded)), "\n"), lines)
	for _, line := range gone {
		fmt.Fprintf(w, "- %s\n", line)
	}
	for _, line := range added {
		fmt.Fprintf(w, "+ %s\n", line)
	}
	switch {
	case len(gone) > 0:
		return fmt.Errorf("what %s has is gone or changed (%d), which breaks programs that use it; "+
			"if that is meant, go run ./internal/api -record, and CHANGELOG.md says what they have to change", file, len(gone))
	case len(added) > 0:
		return fmt.Errorf("%s has not everything (%d is new): go run ./internal/api -record", file, len(added))
	}
	fmt.Fprintf(w, "%d lines, %d packages: as recorded in %s\n", len(lines), len(packages), file)
	return nil
}

// compare returns the lines that are only in the record, and those that are
// only in the code, each in the order of its list.
func compare(recorded, actual []string) (gone, added []string) {
	without := func(list, other []string) (rest []string) {
		there := map[string]bool{}
		for _, line := range other {
			there[line] = true
		}
		for _, line := range list {
			if !there[line] {
				rest = append(rest, line)
			}
		}
		return rest
	}
	return without(recorded, actual), without(actual, recorded)
}

// load returns the packages of pattern that programs can import, from the
// export data that the compiler writes of them.
func load(pattern string) ([]*types.Package, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Export,DepOnly", pattern)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	exports := map[string]string{}
	var paths []string
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Export string
			DepOnly                  bool
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly && p.Name != "main" && public(p.ImportPath) {
			paths = append(paths, p.ImportPath)
		}
	}
	slices.Sort(paths)
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, ok := exports[path]
		if !ok || file == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(file)
	})
	var packages []*types.Package
	for _, path := range paths {
		p, err := from.Import(path)
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// public says whether programs elsewhere import a package: the examples and
// the packages of the commands are there to be read and run.
func public(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "internal", "cmd", "bench", "examples":
			return false
		}
	}
	return true
}
