package main

import (
	"strings"
	"testing"
)

func TestPrefixesMatchWholeSegments(t *testing.T) {
	tab := newTable()
	for _, prefix := range []string{"/orders", "/orders/eu", "/a/b/c"} {
		tab.File[prefix] = route{Upstream: "file " + prefix}
	}
	tab.API["/orders/eu"] = route{Upstream: "api /orders/eu"}
	for path, want := range map[string]string{
		"/orders":       "file /orders",
		"/orders/":      "file /orders",
		"/orders/7":     "file /orders",
		"/orders2":      "",
		"/orders/eu":    "api /orders/eu",
		"/orders/eu/7":  "api /orders/eu",
		"/orders/euro":  "file /orders",
		"/a/b":          "",
		"/a/b/c/d/e":    "file /a/b/c",
		"/":             "",
		"/other":        "",
		"no/slash":      "",
		"/ORDERS":       "",
		"//orders":      "",
		"/orders//eu/7": "file /orders",
	} {
		if r, _, _ := tab.lookup(path); r.Upstream != want {
			t.Errorf("%s goes to %q, want %q", path, r.Upstream, want)
		}
	}
	tab.File["/"] = route{Upstream: "root"}
	for _, path := range []string{"/", "/other", "/a/b"} {
		if r, _, _ := tab.lookup(path); r.Upstream != "root" {
			t.Errorf("%s goes to %q, want the root", path, r.Upstream)
		}
	}
}

func TestYAMLAndJSONSayTheSame(t *testing.T) {
	for _, file := range []string{
		"# routes\n/orders: {upstream: http://h:1, health: /healthz}\n/users:\n  upstream: https://h\n",
		`{"/orders": {"upstream": "http://h:1", "health": "/healthz"},` + "\n\t" + `"/users": {"upstream": "https://h"}}`,
	} {
		routes, err := parse([]byte(file))
		if err != nil || len(routes) != 2 ||
			routes["/orders"] != (route{Upstream: "http://h:1", Health: "/healthz"}) || routes["/users"] != (route{Upstream: "https://h"}) {
			t.Errorf("%s\n%v, %v", file, routes, err)
		}
	}
}

func TestBadRoutesAreRefusedInOneLine(t *testing.T) {
	for file, want := range map[string]string{
		"":                                   "there is no route",
		"{}":                                 "there is no route",
		"/a: [":                              "did not find expected",
		"- /a":                               "cannot unmarshal",
		"/a: {upstream: http://h, helth: x}": "helth",
		"/a: {upstream: http://h}\n/a: {upstream: http://h}":            "already defined",
		`{"/a": {"upstream":"http://h"},"/a": {"upstream":"http://h"}}`: "twice",
		`{"/a": {"upstream":"http://h"}`:                                "EOF",
		`{"/a": {"upstream":"http://h"}} {}`:                            "follows",
		"/a: {upstream: ftp://h}":                                       "http://HOST:PORT",
		"/a: {upstream: h:80}":                                          "http://HOST:PORT",
		"/a: {upstream: 'http://'}":                                     "http://HOST:PORT",
		"/a: {upstream: 'http://u:hunter2@h'}":                          "leave the user and the password out",
		"/a: {upstream: 'http://u:hunter2@h/%zz'}":                      "not a URL",
		"/a: {upstream: 'http://h/?x=1'}":                               "query",
		"/a: {upstream: http://h, health: healthz}":                     "write a path",
		"/a: {upstream: http://h, health: //evil/x}":                    "write a path",
		"a: {upstream: http://h}":                                       "slash",
		"/a/: {upstream: http://h}":                                     `write it as "/a"`,
		"/a/../b: {upstream: http://h}":                                 `write it as "/b"`,
		"/a%2fb: {upstream: http://h}":                                  "decoded",
		"\"/a\\eb\": {upstream: http://h}":                              "control",
		"/a: {upstream: http://h}\n---\n/b: {upstream: http://h}":       "more than one",
	} {
		routes, err := parse([]byte(file))
		if err == nil {
			t.Errorf("taken: %s\n%v", file, routes)
			continue
		}
		if text := err.Error(); !strings.Contains(text, want) || strings.ContainsAny(text, "\n\x1b") || strings.Contains(text, "hunter2") {
			t.Errorf("%s\nrefused with %q, want %q", file, text, want)
		}
	}
}
