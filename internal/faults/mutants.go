package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// mutants returns what gremlins has listed in a file and not killed, as faults.
//
// Of gremlins alone a run takes hours, since a lock with a fault in it mostly
// hangs, and it leaves out the conditions in a case, which it takes for not
// covered. After its dry run all are listed and none is killed, and the explorer
// finds most of them in a second.
func mutants(list string) (all []fault, err error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	for _, m := range mutant.FindAllSubmatch(text, -1) {
		f := fault{kind: "mutant", name: string(m[2]) + " at " + string(m[3]), file: string(m[4])}
		if strings.HasSuffix(f.file, "_explore.go") {
			continue // no part of the locks
		}
		code, err := os.ReadFile(f.file)
		if err != nil {
			return nil, err
		}
		lines := bytes.SplitAfter(code, []byte("\n"))
		line, _ := strconv.Atoi(string(m[5]))
		column, _ := strconv.Atoi(string(m[6]))
		if line > len(lines) || column > len(lines[line-1]) {
			return nil, fmt.Errorf("%s: %s has no such place: the code has changed, so run gremlins again", list, f.name)
		}
		at := len(bytes.Join(lines[:line-1], nil)) + column - 1
		for _, pair := range mutations[string(m[2])] {
			if bytes.HasPrefix(code[at:], []byte(pair[0])) {
				f.old, f.new = string(code), string(code[:at])+pair[1]+string(code[at+len(pair[0]):])
				break
			}
		}
		if f.old == "" {
			return nil, fmt.Errorf("%s: %s: there is nothing of that kind: the code has changed, so run gremlins again", list, f.name)
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no line of gremlins about a mutant that was not killed", list)
	}
	return all, nil
}

var mutant = regexp.MustCompile(`(LIVED|TIMED OUT|NOT COVERED|RUNNABLE) ([A-Z_]+) at (([a-z_]+\.go):(\d+):(\d+))`)

// mutations are what gremlins replaces by what; of two that begin alike, the
// longer one comes first.
var mutations = map[string][][2]string{
	"CONDITIONALS_BOUNDARY": {{"<=", "<"}, {">=", ">"}, {"<", "<="}, {">", ">="}},
	"CONDITIONALS_NEGATION": {{"==", "!="}, {"!=", "=="}, {"<=", ">"}, {">=", "<"}, {"<", ">="}, {">", "<="}},
	"INCREMENT_DECREMENT":   {{"++", "--"}, {"--", "++"}},
	"ARITHMETIC_BASE":       {{"+", "-"}, {"-", "+"}, {"*", "/"}, {"/", "*"}, {"%", "*"}},
	"INVERT_NEGATIVES":      {{"-", "+"}},
	"INVERT_LOGICAL":        {{"&&", "||"}, {"||", "&&"}},
}
