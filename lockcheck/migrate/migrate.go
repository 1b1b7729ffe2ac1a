// Package migrate is drawbridge migrate: it changes the locks of a module from sync.Mutex and sync.RWMutex to
// drawbridge's, where everything that is done with them can follow.
package migrate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/mod/modfile"
)

const (
	modulePath     = "github.com/drawbridge-go/drawbridge"
	defaultVersion = "v0.1.0"
)

// Options say what to change. The tags are for a command-line library; this package does not need one.
type Options struct {
	Packages []string `arg:"" optional:"" help:"Packages whose locks are changed (default ./...)."`
	Write    bool     `help:"Write the files; without it, only the difference is shown."`
	Context  bool     `help:"Also ask for locks with the context that is at hand, in functions that return an error."`
	Version  string   `help:"The version of drawbridge that the module is to require." default:"v0.1.0"`
	Replace  string   `help:"A folder with drawbridge's source, to be used in place of a version." placeholder:"DIR"`
	Tags     string   `help:"Build tags, as for go build." placeholder:"TAGS"`
	Dir      string   `kong:"-"` // in the module; "" is the current directory
}

// Run shows, or with Write makes, the change, and returns the exit status: 0 when that went well, also if
// there was nothing to do, and 2 when not. The difference goes to stdout, what is left as it is and why to
// stderr.
func Run(ctx context.Context, o Options, stdout, stderr io.Writer) int {
	if err := o.run(ctx, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "drawbridge migrate:", err)
		return 2
	}
	return 0
}

func (o Options) run(ctx context.Context, stdout, stderr io.Writer) error {
	if o.Version == "" {
		o.Version = defaultVersion
	}
	if len(o.Packages) == 0 {
		o.Packages = []string{"./..."}
	}
	if o.Replace != "" {
		dir, err := filepath.Abs(o.Replace)
		if err != nil {
			return err
		}
		o.Replace = dir
	}
	mod, err := o.goMod(ctx)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "drawbridge-migrate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := o.require(mod, temp); err != nil {
		return err
	}
	if err := o.available(ctx, temp); err != nil {
		return err
	}
	m := &migration{ctx: ctx, o: o, modfile: filepath.Join(temp, "go.mod"), root: filepath.Dir(mod)}
	if err := m.plan(); err != nil {
		return err
	}
	files := m.result(false)
	for _, s := range m.skipped() {
		fmt.Fprintln(stderr, s)
	}
	if len(files) == 0 {
		fmt.Fprintln(stderr, "no lock was changed")
		return nil
	}
	before, after, err := o.required(mod, temp)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	show := func(name string, old, new []byte) {
		rel := name
		if r, err := filepath.Rel(m.root, name); err == nil {
			rel = filepath.ToSlash(r)
		}
		fmt.Fprint(stdout, udiff.Unified("a/"+rel, "b/"+rel, string(old), string(new)))
	}
	show(mod, before, after)
	for _, name := range names {
		show(name, m.text[name], files[name])
	}
	fmt.Fprintf(stderr, "%d of %d locks changed, in %d files", m.converted(), len(m.sites), len(files))
	if o.Context {
		fmt.Fprintf(stderr, "; %d calls ask with a context", m.asked())
	}
	fmt.Fprintln(stderr)
	if !o.Write {
		fmt.Fprintln(stderr, "nothing is written yet; --write does it")
		return nil
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, files[name], info.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := os.WriteFile(mod, after, 0o644); err != nil {
		return err
	}
	// The checksums, which the type-check has already needed, and indirect requirements.
	if sum, err := os.ReadFile(filepath.Join(temp, "go.sum")); err == nil && len(sum) > 0 {
		if err := os.WriteFile(filepath.Join(m.root, "go.sum"), sum, 0o644); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(m.root, "vendor", "modules.txt")); err == nil {
		fmt.Fprintln(stderr, "the module has a vendor folder; run go mod vendor")
	}
	return nil
}

// goMod finds the go.mod of the module.
func (o Options) goMod(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMOD")
	cmd.Dir = o.Dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return "", errors.New("there is no go.mod here; run it in a module")
	}
	return mod, nil
}

// require writes a copy of go.mod that requires drawbridge, and one of go.sum beside it, to a folder, so that
// the result can be type-checked before anything is written.
func (o Options) require(mod, temp string) error {
	data, err := os.ReadFile(mod)
	if err != nil {
		return err
	}
	f, err := modfile.Parse(mod, data, nil)
	if err != nil {
		return err
	}
	if f.Module != nil && f.Module.Mod.Path == modulePath {
		return errors.New("this is drawbridge itself")
	}
	if err := o.add(f); err != nil {
		return err
	}
	// Replacements by folders are relative to go.mod, and the copy is elsewhere.
	for _, r := range f.Replace {
		if r.New.Version == "" && !filepath.IsAbs(r.New.Path) {
			if err := f.AddReplace(r.Old.Path, r.Old.Version, filepath.Join(filepath.Dir(mod), r.New.Path), ""); err != nil {
				return err
			}
		}
	}
	moved, err := f.Format()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(temp, "go.mod"), moved, 0o644); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(filepath.Dir(mod), "go.sum"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(filepath.Join(temp, "go.sum"), sum, 0o644)
}

// available makes sure that drawbridge can be had as the go.mod in the folder temp wants it. Else each lock would
// seem to be what does not compile.
func (o Options) available(ctx context.Context, temp string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-modfile="+filepath.Join(temp, "go.mod"), "-mod=mod", modulePath)
	cmd.Dir = o.Dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		why := strings.ReplaceAll(oneLine(cmp.Or(stderr.String(), err.Error())), temp+string(filepath.Separator), "")
		if o.Replace != "" {
			return fmt.Errorf("%q cannot be used as drawbridge's source; name the folder of its go.mod with --replace: %q", o.Replace, why)
		}
		return fmt.Errorf("drawbridge %q cannot be had; name another version with --version, or a folder with --replace: %q", o.Version, why)
	}
	return nil
}

func (o Options) add(f *modfile.File) error {
	have := false
	for _, r := range f.Require {
		have = have || r.Mod.Path == modulePath
	}
	if !have {
		f.AddNewRequire(modulePath, o.Version, false)
	}
	if o.Replace != "" {
		return f.AddReplace(modulePath, "", o.Replace, "")
	}
	return nil
}

// required is go.mod as it is and as it is to be: with the version of Go and the other modules that the go
// command has found to be needed when it looked at the copy.
func (o Options) required(mod, temp string) (before, after []byte, err error) {
	if before, err = os.ReadFile(mod); err != nil {
		return nil, nil, err
	}
	f, err := modfile.Parse(mod, before, nil)
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(filepath.Join(temp, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	found, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := o.add(f); err != nil {
		return nil, nil, err
	}
	if found.Go != nil && (f.Go == nil || f.Go.Version != found.Go.Version) {
		if err := f.AddGoStmt(found.Go.Version); err != nil {
			return nil, nil, err
		}
	}
	if found.Toolchain != nil && f.Toolchain == nil {
		if err := f.AddToolchainStmt(found.Toolchain.Name); err != nil {
			return nil, nil, err
		}
	}
	f.SetRequireSeparateIndirect(found.Require)
	f.Cleanup()
	after, err = f.Format()
	return before, after, err
}
