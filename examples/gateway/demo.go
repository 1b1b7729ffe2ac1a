package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// demo starts three small upstreams, for a gateway without --routes, and
// writes a routes file for them into a folder that stop removes.
func demo() (routes string, stop func(), err error) {
	folder, err := os.MkdirTemp("", "gateway-")
	if err != nil {
		return "", nil, err
	}
	var servers []*http.Server
	stop = func() {
		for _, server := range servers {
			server.Close()
		}
		os.RemoveAll(folder)
	}
	var file strings.Builder
	fmt.Fprintln(&file, "# Change this file; the gateway reads it again within 30 s, or at once on SIGHUP.")
	for _, name := range []string{"orders", "users", "search"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			stop()
			return "", nil, err
		}
		server := &http.Server{Handler: demoUpstream(name), ReadHeaderTimeout: 5 * time.Second}
		servers = append(servers, server)
		go server.Serve(listener)
		fmt.Fprintf(&file, "/%s: {upstream: \"http://%s\", health: /healthz}\n", name, listener.Addr())
	}
	routes = filepath.Join(folder, "routes.yaml")
	if err := os.WriteFile(routes, []byte(file.String()), 0o600); err != nil {
		stop()
		return "", nil, err
	}
	return routes, stop, nil
}

func demoUpstream(name string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond) // what the gateway's readers wait for
		fmt.Fprintln(w, "well")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s answers %s %s\n", name, r.Method, r.URL.Path)
	})
	return mux
}
