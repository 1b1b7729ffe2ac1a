package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser starts headless Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("chromium not found: install Debian's chromium")
	} else if err != nil {
		t.Fatal("chromium not found")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // the first call starts the browser, and may have no deadline
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, 3*patience)
	t.Cleanup(cancel)
	return ctx
}

// Somebody looks at the page while a request holds the table and a refresh
// waits for it, and sees both, and then that it is over.
func TestPageOfTheLockShowsWhoHoldsTheTable(t *testing.T) {
	ctx := browser(t)
	err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("exception in the page: %s", e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t)
	defer close(s.letGo)
	p := start(t, "--guard", "rwmutex", "--routes", s.file, "--refresh", "1h", "--lock-timeout", "0", "--health-timeout", "5m")
	var stuck sync.WaitGroup
	stuck.Go(func() { p.audit("GET", p.url+"/stuck/x", "", 200) })
	until(t, "the stuck reader is inside", func() bool { inside, _ := p.lock(); return inside > 0 })
	p.cmd.Process.Signal(syscall.SIGHUP)
	until(t, "the refresh waits", func() bool { _, waiting := p.lock(); return waiting > 0 })

	shows := func(what, expression string) {
		t.Helper()
		until(t, what, func() bool {
			ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
			return err == nil && ok
		})
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(p.admin+"/debug/locks/")); err != nil {
		t.Fatal(err)
	}
	link := `[...document.querySelectorAll("td.name a")].find((a) => a.textContent === "` + lockName + `")`
	shows("the lock in the table", link+` !== undefined && document.querySelector("#locks tbody tr.waiting") !== null`)
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](link+`.click()`)); err != nil {
		t.Fatal(err)
	}
	has := func(list, text string) string {
		return `[...document.querySelectorAll("#` + list + ` td")].some((c) => c.textContent.includes("` + text + `"))`
	}
	shows("the request among the holders", has("holders", "GET /stuck/x"))
	shows("the refresh among the waiters", has("waiters", "refresh"))

	close(s.free)
	stuck.Wait()
	shows("nobody inside any more", `document.body.innerText.includes("free") && !(`+has("holders", "GET /stuck/x")+`)`)
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.exited: // although a page is open
		if err != nil || strings.Contains(p.log(), "DATA RACE") {
			t.Errorf("the gateway ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the gateway has not ended")
	}
}
