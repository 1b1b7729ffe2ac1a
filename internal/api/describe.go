package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

const module = "github.com/drawbridge-go/drawbridge"

// describe returns a sorted line for each thing of p that a program can name.
func describe(p *types.Package) []string {
	d := describer{p: p, name: strings.TrimPrefix(p.Path(), module+"/")}
	if p.Path() == module {
		d.name = p.Name()
	}
	for _, id := range p.Scope().Names() {
		object := p.Scope().Lookup(id)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			d.line("const %s %s = %s", id, d.text(object.Type()), object.Val().ExactString())
		case *types.Var:
			d.line("var %s %s", id, d.text(object.Type()))
		case *types.Func:
			signature := object.Signature()
			d.line("func %s%s%s", id, d.parameters(signature.TypeParams()), d.calls(signature))
		case *types.TypeName:
			if object.IsAlias() {
				d.line("type %s = %s", id, d.text(types.Unalias(object.Type())))
			} else {
				d.named(object.Type().(*types.Named))
			}
		}
	}
	slices.Sort(d.lines)
	return d.lines
}

type describer struct {
	p     *types.Package
	name  string // of p, in front of each line
	lines []string
}

func (d *describer) line(format string, args ...any) {
	d.lines = append(d.lines, d.name+": "+fmt.Sprintf(format, args...))
}

func (d *describer) text(t types.Type) string {
	return types.TypeString(unnamed(t), func(other *types.Package) string {
		if other == d.p {
			return ""
		}
		return other.Name()
	})
}

// calls is how a function is called: its signature without type parameters.
func (d *describer) calls(s *types.Signature) string {
	return strings.TrimPrefix(d.text(s), "func")
}

// parameters is a list of type parameters with what they may be.
func (d *describer) parameters(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var each []string
	for p := range list.TypeParams() {
		each = append(each, p.Obj().Name()+" "+d.text(p.Constraint()))
	}
	return "[" + strings.Join(each, ", ") + "]"
}

func names(list *types.TypeParamList) (each []string) {
	for p := range list.TypeParams() {
		each = append(each, p.Obj().Name())
	}
	return each
}

func (d *describer) named(t *types.Named) {
	id := t.Obj().Name() + d.parameters(t.TypeParams())
	switch under := t.Underlying().(type) {
	case *types.Struct:
		d.line("type %s struct%s", id, unseen(t, under))
		for field := range under.Fields() {
			if field.Exported() {
				d.line("type %s struct, %s %s", id, field.Name(), d.text(field.Type()))
			}
		}
	case *types.Interface:
		d.line("type %s %s", id, d.methods(under))
		return
	default:
		d.line("type %s %s", id, d.text(under))
	}
	// The methods of the pointer are all that there are, promoted ones too.
	receiver := t.Obj().Name()
	if t.TypeParams().Len() > 0 {
		receiver += "[" + strings.Join(names(t.TypeParams()), ", ") + "]"
	}
	values := types.NewMethodSet(t)
	for selection := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		f := selection.Obj()
		if !f.Exported() {
			continue
		}
		star := "*"
		if values.Lookup(f.Pkg(), f.Name()) != nil {
			star = ""
		}
		d.line("method (%s%s) %s%s", star, receiver, f.Name(), d.calls(selection.Type().(*types.Signature)))
	}
}

// methods is an interface. One with unexported methods is implemented in its
// own package alone, whatever they are called.
func (d *describer) methods(t *types.Interface) string {
	if !t.IsMethodSet() {
		return d.text(t) // a constraint
	}
	var each []string
	closed := false
	for m := range t.Methods() {
		if m.Exported() {
			each = append(each, m.Name()+d.calls(m.Signature()))
		} else {
			closed = true
		}
	}
	slices.Sort(each)
	if closed {
		each = append(each, "unexported methods")
	}
	return "interface{" + strings.Join(each, "; ") + "}"
}

// unseen says of a struct what its exported fields do not: whether a literal
// without keys can be written elsewhere, and whether == compiles.
func unseen(t *types.Named, s *types.Struct) (also string) {
	for field := range s.Fields() {
		if !field.Exported() {
			also = ", with unexported fields"
		}
	}
	if !types.Comparable(t) {
		also += ", not comparable"
	}
	return also
}

// unnamed is t without the names of parameters and results, which no program
// depends on, and without the type parameters of a function.
func unnamed(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Signature:
		tuple := func(list *types.Tuple) *types.Tuple {
			var bare []*types.Var
			for v := range list.Variables() {
				bare = append(bare, types.NewParam(v.Pos(), v.Pkg(), "", unnamed(v.Type())))
			}
			return types.NewTuple(bare...)
		}
		return types.NewSignatureType(nil, nil, nil, tuple(t.Params()), tuple(t.Results()), t.Variadic())
	case *types.Pointer:
		return types.NewPointer(unnamed(t.Elem()))
	case *types.Slice:
		return types.NewSlice(unnamed(t.Elem()))
	case *types.Map:
		return types.NewMap(unnamed(t.Key()), unnamed(t.Elem()))
	case *types.Chan:
		return types.NewChan(t.Dir(), unnamed(t.Elem()))
	}
	return t
}
