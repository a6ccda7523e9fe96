// Command writ is written authority for tool calls: tools, argument schemas,
// risk rules and policy are files, and every call is prepared, assessed,
// approved, executed and recorded. The work is done in engine/…; this package
// assembles the rooms and speaks to people.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := &app{
		in: os.Stdin, out: os.Stdout, errors: os.Stderr,
		environ: os.Environ(), folder: os.Getwd, now: time.Now, user: currentUser,
		terminal: func(w any) bool {
			f, ok := w.(*os.File)
			return ok && term.IsTerminal(int(f.Fd()))
		},
	}
	os.Exit(a.run(ctx, os.Args[1:]))
}
