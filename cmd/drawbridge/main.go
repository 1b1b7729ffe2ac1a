// Command drawbridge shows what read-write locks do under load, checks that the
// ones of package drawbridge keep their promises, and finds misuse of locks in
// programs.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/drawbridge-go/drawbridge/lockcheck/vet"
)

// commands is the command line: one field for each command, which has its
// flags and its Run in a file of its own.
type commands struct {
	Lab       labCommand       `cmd:"" help:"Watch readers keep a writer out, with every lock and policy side by side."`
	Replay    replayCommand    `cmd:"" help:"Play the requests of an access log against every lock and policy."`
	Verify    verifyCommand    `cmd:"" help:"Check the promises of the library on this machine."`
	Top       topCommand       `cmd:"" help:"See what the locks of a running process are doing."`
	Locks     locksCommand     `cmd:"" help:"See, and take away, the locks that machines share through etcd or PostgreSQL."`
	Vet       vetCommand       `cmd:"" help:"Find misuse of locks in Go packages before it runs."`
	LabWorker labWorkerCommand `cmd:"" hidden:""`
	Migrate   migrateCommand   `cmd:"" help:"Change the locks of a module from those of package sync to drawbridge's."`
}

// streams are the standard streams, as a command sees them.
type streams struct {
	in       io.Reader
	out, err *os.File
}

// reported is returned by a command that has said itself what there is to
// say. It is the exit status.
type reported int

func (r reported) Error() string { return fmt.Sprintf("exit status %d", int(r)) }

const (
	exitFailed = 1 // what was checked is not so
	exitUsage  = 2 // the command cannot do what it was asked to
)

// errFailed is returned by a command that did its work and found something
// wrong.
var errFailed = reported(exitFailed)

func main() {
	if calledByGoVet(os.Args) {
		vet.Tool()
	}
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

func run(args []string, std streams) int {
	parser, err := kong.New(new(commands),
		kong.Name("drawbridge"),
		kong.Description("Read-write locks in which nobody starves: see them work, play your own traffic against them, check them here.\n\nExample: drawbridge lab"),
		kong.Writers(std.out, std.err),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100}),
		kong.WithHyphenPrefixedParameters(true), // --hold -5ms: the command says what is wrong with it
		kong.Bind(std),
	)
	if err != nil {
		panic(err) // the struct above is wrong: no input can do that
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if err == nil {
		err = command.Run()
	}
	var status reported
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintf(std.err, "drawbridge: %s\n", printable(withoutPasswords(strings.TrimPrefix(err.Error(), "drawbridge: "))))
	return exitUsage
}

// secrets are where a URL has a password: up to the last @, since who forgot to
// escape one may have any character in it, and in the options of PostgreSQL.
var secrets = regexp.MustCompile(`(?s)(://).*@|(password=)[^&\s"]*`)

// withoutPasswords hides what may be passwords of a URL in an error, such as
// that of an argument in the wrong place.
func withoutPasswords(s string) string { return secrets.ReplaceAllString(s, "$1$2…") }

// printable keeps text that came from elsewhere to one line and from moving
// the cursor: it writes what is not printable as Go writes it in a string.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}
