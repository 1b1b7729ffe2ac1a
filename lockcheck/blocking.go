package lockcheck

import (
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// waits that are known by name. A bounded one ends by itself or with a context.
var waits = map[string]struct{ bounded bool }{
	"time.Sleep":                                  {true},
	"(*sync.WaitGroup).Wait":                      {},
	"(*sync.Cond).Wait":                           {},
	"(*golang.org/x/sync/errgroup.Group).Wait":    {},
	"(*os/exec.Cmd).Run":                          {},
	"(*os/exec.Cmd).Wait":                         {},
	"(*os/exec.Cmd).Output":                       {},
	"(*os/exec.Cmd).CombinedOutput":               {},
	"(*os.Process).Wait":                          {},
	"net.Dial":                                    {},
	"net.DialTCP":                                 {},
	"net.DialTimeout":                             {true},
	"net.LookupHost":                              {},
	"net.LookupIP":                                {},
	"net.LookupAddr":                              {},
	"net.LookupCNAME":                             {},
	"net.LookupMX":                                {},
	"net.LookupNS":                                {},
	"net.LookupSRV":                               {},
	"net.LookupTXT":                               {},
	"(*net.Dialer).Dial":                          {},
	"(*net.Dialer).DialContext":                   {true},
	"(net.Conn).Read":                             {},
	"(net.Conn).Write":                            {},
	"(*net.TCPConn).Read":                         {},
	"(*net.TCPConn).Write":                        {},
	"(*net.UDPConn).Read":                         {},
	"(net.Listener).Accept":                       {},
	"(*crypto/tls.Conn).Handshake":                {},
	"crypto/tls.Dial":                             {},
	"net/http.Get":                                {},
	"net/http.Head":                               {},
	"net/http.Post":                               {},
	"net/http.PostForm":                           {},
	"(*net/http.Client).Do":                       {},
	"(*net/http.Client).Get":                      {},
	"(*net/http.Client).Head":                     {},
	"(*net/http.Client).Post":                     {},
	"(*net/http.Client).PostForm":                 {},
	"(net/http.RoundTripper).RoundTrip":           {},
	"(*net/http.Server).Shutdown":                 {true},
	"(*net/rpc.Client).Call":                      {},
	"(*google.golang.org/grpc.ClientConn).Invoke": {true},
	"(net/http.Handler).ServeHTTP":                {},
}

// queries are the methods of database/sql that go to the database.
var queries = map[string]bool{"Query": true, "QueryRow": true, "Exec": true, "Ping": true, "Begin": true, "Prepare": true, "Commit": true, "Rollback": true}

// blocking says whether a call is a wait that is known by name.
func (e *engine) blocking(m *types.Func, c *ssa.CallCommon) (block, bool) {
	name := fullName(m)
	if w, ok := waits[name]; ok {
		b := block{What: name, Bounded: w.bounded}
		if name == "(*sync.Cond).Wait" && len(c.Args) > 0 {
			b.Cond = true
			cond := e.place(c.Args[0])
			if call, ok := cond.Root.value.(*ssa.Call); ok && cond.Steps == "" && fullName(called(&call.Call)) == "sync.NewCond" {
				own := e.place(call.Call.Args[0])
				b.Own, b.OwnLock = own.path, own.class
			} else if cond.class != "" {
				if own := e.unalias(place{path: path{Root: cond.Root, Steps: cond.Steps + ".L"}, class: cond.class + ".L"}); own.class != cond.class+".L" {
					b.Own, b.OwnLock = own.path, own.class
				}
			}
		}
		if name == "(*net/http.Client).Do" && len(c.Args) > 1 {
			b.Bounded = withContext(c.Args[1])
		}
		return b, true
	}
	if strings.Contains(name, "database/sql.") {
		if queries[m.Name()] {
			return block{What: name}, true
		}
		if base, ok := strings.CutSuffix(m.Name(), "Context"); ok && queries[base] || m.Name() == "BeginTx" {
			return block{What: name, Bounded: true}, true
		}
	}
	return block{}, false
}

// withContext reports whether a request was made with a context in this function.
func withContext(v ssa.Value) bool {
	if x, ok := v.(*ssa.Extract); ok {
		v = x.Tuple
	}
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	name := fullName(called(&call.Call))
	return name == "net/http.NewRequestWithContext" || name == "(*net/http.Request).WithContext"
}

// ends reports whether a receive from the channel ends by itself: a context's Done, a timer, a ticker.
func (e *engine) ends(ch ssa.Value) bool {
	if t, ok := ch.Type().Underlying().(*types.Chan); ok && isNamed(t.Elem(), "time", "Time") {
		return true
	}
	if c, ok := ch.(*ssa.Call); ok {
		if m := called(&c.Call); m != nil {
			return m.Name() == "Done" && c.Call.IsInvoke() && isContext(c.Call.Value.Type()) || fullName(m) == "time.After"
		}
	}
	return false
}

// roomy reports whether a send finds room: the channel was made in this function, with a buffer.
func (e *engine) roomy(ch ssa.Value) bool {
	for range 4 {
		switch x := ch.(type) {
		case *ssa.MakeChan:
			n, ok := x.Size.(*ssa.Const)
			return !ok || constant.Sign(n.Value) > 0
		case *ssa.UnOp:
			if x.Op != token.MUL {
				return false
			}
			ch = x.X
		case *ssa.Alloc:
			if ch = onlyStore(x); ch == nil {
				return false
			}
		case *ssa.ChangeType:
			ch = x.X
		default:
			return false
		}
	}
	return false
}

// describe names a value for people.
func (e *engine) describe(v ssa.Value) string {
	if p := e.place(v); p.Root.Kind != rootLocal || p.Steps != "" {
		return p.String()
	}
	if c, ok := v.(*ssa.Call); ok {
		if m := called(&c.Call); m != nil {
			return m.Name() + "()"
		}
	}
	if name := e.place(v).String(); name != "…" {
		return name
	}
	return "a channel"
}
