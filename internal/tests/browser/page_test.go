// Package browser opens the page of inspect in a real browser.
package browser

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
)

var screenshots = flag.String("screenshots", "", "keep screenshots in this `folder`")

// browser starts headless Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("this needs chromium: apt-get install chromium")
	}
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	run(t, ctx) // the first call starts the browser, and may have no deadline
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// complain fails the test for what a browser says of a faulty page, and for
// every request to somewhere else.
func complain(t *testing.T, ctx context.Context, origin string) {
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("exception in the page: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork && !strings.Contains(e.Entry.Text, "inline event handler") {
				t.Errorf("the browser says: %s", e.Entry.Text)
			}
		case *page.EventJavascriptDialogOpening:
			t.Errorf("a script of a name was run: %s", e.Message)
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, origin) && !strings.HasPrefix(u, "data:") {
				t.Errorf("the page asked for %s", u)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run does what is listed and fails the test if it cannot.
func run(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// until waits for a JavaScript expression to be true, also across the loading
// of another page.
func until(t *testing.T, ctx context.Context, what, expression string) {
	t.Helper()
	var last error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var ok bool
		if ok, last = chromedp.Run(ctx, chromedp.Evaluate[bool](expression)); ok {
			return
		}
	}
	t.Fatalf("%s: not within 20 s (%v)", what, last)
}

func eval[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// serve runs inspect's handler below a prefix of its own.
func serve(t *testing.T) (s *httptest.Server, url string) {
	mux := http.NewServeMux()
	mux.Handle("/a/b/locks/", inspect.Handler())
	s = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s, s.URL + "/a/b/locks/"
}

func TestPage(t *testing.T) {
	runProgram(t)
	server, url := serve(t)
	ctx := browser(t)
	run(t, ctx, chromedp.Navigate("about:blank"))
	complain(t, ctx, server.URL)
	run(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(url))
	until(t, ctx, "seven locks live", `document.querySelectorAll("#locks tbody tr").length === 7 && document.getElementById("status").textContent.startsWith("Live")`)

	t.Run("a name is text", func(t *testing.T) {
		names := eval[[]string](t, ctx, `[...document.querySelectorAll("td.name a")].map((a) => a.textContent)`)
		if !strings.Contains(strings.Join(names, "\n"), evilName) {
			t.Errorf("the name is not shown as it is: %q", names)
		}
		if n := eval[int](t, ctx, `document.querySelectorAll("#locks script, #locks img").length`); n != 0 {
			t.Errorf("%d elements were made of a name", n)
		}
	})

	t.Run("an inline script is not run", func(t *testing.T) {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		policy := response.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("policy %q", policy)
		}
		violated := eval[bool](t, ctx, `new Promise((done) => {
			document.addEventListener("securitypolicyviolation", () => done(true), { once: true });
			const s = document.createElement("div");
			s.setAttribute("onclick", "window.ran = true");
			s.click();
			setTimeout(() => done(window.ran === undefined), 500);
		})`)
		if !violated {
			t.Error("an inline handler was run")
		}
	})

	t.Run("sorts", func(t *testing.T) {
		names := func() []string {
			return eval[[]string](t, ctx, `[...document.querySelectorAll("td.name a")].map((a) => a.textContent)`)
		}
		run(t, ctx, chromedp.Click(`th[data-column=name] button`))
		up := names()
		if up[0] != evilName || up[6] != "sessions" && up[6] != "search index" {
			t.Errorf("by name: %q", up)
		}
		// By keyboard alone, this time.
		run(t, ctx, chromedp.Focus(`th[data-column=name] button`), chromedp.KeyEvent(kb.Enter))
		if down := names(); down[6] != evilName || down[0] != up[6] {
			t.Errorf("by name, the other way: %q", down)
		}
		if order := eval[string](t, ctx, `document.querySelector("th[data-column=name]").getAttribute("aria-sort")`); order != "descending" {
			t.Errorf("aria-sort %q", order)
		}
	})

	t.Run("filters", func(t *testing.T) {
		run(t, ctx, chromedp.KeyEvent("/"))
		if id := eval[string](t, ctx, `document.activeElement.id`); id != "filter" {
			t.Errorf("the slash key leads to %q", id)
		}
		// The driver types the slash although the page has taken its key.
		run(t, ctx, chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent("jour"))
		until(t, ctx, "one row", `document.querySelectorAll("#locks tbody tr").length === 1`)
		run(t, ctx, chromedp.KeyEvent(strings.Repeat(kb.Backspace, len("jour"))))
		until(t, ctx, "all rows", `document.querySelectorAll("#locks tbody tr").length === 7`)
	})

	pictures(t, ctx, "table", url, `document.querySelectorAll("#locks tbody tr.waiting").length > 0`)

	t.Run("a lock of its own", func(t *testing.T) {
		link := `[...document.querySelectorAll("td.name a")].find((a) => a.textContent === "routes")`
		until(t, ctx, "the link", link+` !== undefined`)
		run(t, ctx, chromedp.Evaluate[chromedp.Void](link+`.click()`))
		until(t, ctx, "live lanes", `document.querySelectorAll("#lanes rect.wait").length > 0 && document.querySelectorAll("#lanes rect.read, #lanes rect.write").length > 2`)
		before := eval[string](t, ctx, `document.getElementById("lanes").innerHTML`)
		until(t, ctx, "the lanes move", fmt.Sprintf(`document.getElementById("lanes").innerHTML !== %q`, before))
		until(t, ctx, "labels of requests", `[...document.querySelectorAll("#holders td, #waiters td")].some((c) => /route=\/(users|orders)/.test(c.textContent))`)
		until(t, ctx, "sites", `[...document.querySelectorAll("#holders td.site")].some((c) => c.textContent.includes("program_test.go:"))`)
		until(t, ctx, "histograms", `document.querySelectorAll(".histograms figure").length >= 4`)

		run(t, ctx, chromedp.Focus("#lanes"), chromedp.KeyEvent(kb.ArrowLeft))
		if details := eval[string](t, ctx, `document.getElementById("details").textContent`); !strings.Contains(details, " · ") {
			t.Errorf("stepping through the lanes shows %q", details)
		}
		run(t, ctx, chromedp.KeyEvent("+"))
		if window := eval[string](t, ctx, `document.getElementById("window").textContent`); window != "last 5 s" {
			t.Errorf("zoomed in to %q", window)
		}
		run(t, ctx, chromedp.KeyEvent("-"))
	})

	t.Run("pauses", func(t *testing.T) {
		run(t, ctx, chromedp.KeyEvent("p"))
		until(t, ctx, "paused", `document.getElementById("status").textContent === "Paused"`)
		shown := eval[bool](t, ctx, `new Promise((done) => {
			const before = document.getElementById("main").innerHTML;
			setTimeout(() => done(document.getElementById("main").innerHTML === before), 1000);
		})`)
		if !shown {
			t.Error("the page went on while it was paused")
		}
		run(t, ctx, chromedp.Click("#pause"))
		until(t, ctx, "live again", `document.getElementById("status").textContent.startsWith("Live")`)
	})

	t.Run("has what happened in a pause", func(t *testing.T) {
		n := eval[int](t, ctx, `new Promise((done) => {
			const pause = document.getElementById("pause");
			pause.click();
			setTimeout(() => {
				pause.click();
				setTimeout(() => {
					// From 3 to 1 seconds ago, of the last 10.
					const lanes = document.getElementById("lanes");
					const x = (ago) => 150 + (lanes.clientWidth - 150) * (1 - ago / 10);
					done([...lanes.querySelectorAll("rect[data-index]:not(.readers)")].filter((r) => {
						const from = Number(r.getAttribute("x"));
						return from > x(3) && from + Number(r.getAttribute("width")) < x(1);
					}).length);
				}, 400);
			}, 3500);
		})`)
		if n == 0 {
			t.Error("nothing of what happened in the pause is in the lanes")
		}
	})

	address := eval[string](t, ctx, `location.href`)
	filled := 60
	if *screenshots != "" {
		filled = 250 // a picture is worth some seconds
	}
	pictures(t, ctx, "lock", address, fmt.Sprintf(`document.querySelectorAll("#lanes rect").length > %d && document.querySelectorAll("#waiters tr").length > 0`, filled))

	t.Run("says that the connection is lost", func(t *testing.T) {
		down, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := server.Config.Shutdown(down); err != nil {
			t.Errorf("the stream of the page holds up Shutdown: %v", err)
		}
		until(t, ctx, "the note", `!document.getElementById("notice").hidden && document.getElementById("status").dataset.state === "lost"`)
	})
}

// pictures looks at a page in both widths and colours: nothing may be wider than
// the window.
func pictures(t *testing.T, ctx context.Context, name, url, ready string) {
	t.Helper()
	for _, width := range []int64{360, 1280} {
		for _, colours := range []string{"light", "dark"} {
			height := int64(900)
			run(t, ctx, chromedp.EmulateViewport(width, height),
				colourScheme(colours),
				chromedp.Navigate(url))
			until(t, ctx, "something to see", ready)
			if w := eval[int64](t, ctx, `document.documentElement.scrollWidth`); w > width {
				t.Errorf("%s at %d px is %d px wide", name, width, w)
			}
			if *screenshots == "" {
				continue
			}
			png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(*screenshots, fmt.Sprintf("inspect-%s-%d-%s.png", name, width, colours))
			if err := os.WriteFile(file, png, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(t, ctx, chromedp.EmulateViewport(1280, 900))
}

func colourScheme(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

// TestNoLocks: an empty table would leave open whether the page works.
func TestNoLocks(t *testing.T) {
	server, url := serve(t)
	ctx := browser(t)
	run(t, ctx, chromedp.Navigate("about:blank"))
	complain(t, ctx, server.URL)
	run(t, ctx, chromedp.EmulateViewport(360, 900), chromedp.Navigate(url))
	until(t, ctx, "words", `document.getElementById("summary").textContent.includes("inspect.Watch") && document.getElementById("locks").clientHeight === 0`)
}

// TestRestOfManyLocksOnRequest: a tick has the busiest 200 locks, and the page
// fetches the others when it is asked to.
func TestRestOfManyLocksOnRequest(t *testing.T) {
	locks := make([]drawbridge.Mutex, 230)
	for i := range locks {
		defer inspect.Watch(fmt.Sprintf("lock %d", i), &locks[i])()
	}
	server, url := serve(t)
	ctx := browser(t)
	run(t, ctx, chromedp.Navigate("about:blank"))
	complain(t, ctx, server.URL)
	run(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(url))
	until(t, ctx, "the busiest", `document.querySelectorAll("#locks tbody tr").length === 200`)
	run(t, ctx, chromedp.Click("#all"))
	until(t, ctx, "all of them", `document.querySelectorAll("#locks tbody tr").length === 230 && document.getElementById("status").textContent === "Paused"`)
	run(t, ctx, chromedp.Click("#pause"))
	until(t, ctx, "the busiest again", `document.querySelectorAll("#locks tbody tr").length === 200`)
	goruntime.KeepAlive(locks) // a watch does not
}
