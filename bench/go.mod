module github.com/drawbridge-go/drawbridge/bench

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/drawbridge-go/drawbridge v0.1.0
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/sasha-s/go-deadlock v0.3.9
	golang.org/x/arch v0.33.0
	golang.org/x/sync v0.25.0
	golang.org/x/term v0.48.0
)

require (
	github.com/petermattis/goid v0.0.0-20250813065127-a731cc31b4fe // indirect
	golang.org/x/sys v0.50.0 // indirect
)
