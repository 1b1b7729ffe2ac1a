module github.com/drawbridge-go/drawbridge/internal/tests

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/drawbridge-go/drawbridge v0.1.0
	go.uber.org/goleak v1.3.0
)
