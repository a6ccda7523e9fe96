package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/setting"
)

func (a *app) callCommand() *cobra.Command {
	var as, object string
	c := &cobra.Command{
		Use:   "call TOOL [key=value…]",
		Short: "Call a tool",
		Long: `Calls a tool under the rules in force and prints its output. The call takes the
same way as that of any client: it is prepared, assessed, approved or refused,
executed and recorded.

key=value gives text, which becomes a number or boolean where the tool wants
one; key:=JSON gives any value; a repeated key makes a list. --args gives all
arguments as one JSON object.

A running server makes the call, so that limits and records are shared. Without
one the state folder is opened for this one call. The caller is local:USER;
--as names another, whose token must be in WRIT_TOKEN.`,
		Example: `  writ call read_file path=README.md
  writ call git_log repo=work limit=5 --json
  writ call search_text --args '{"path": "work", "query": "TODO"}'
  WRIT_TOKEN=… writ call git_log repo=work --as ci-bot`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: a.completeCall,
		Annotations: map[string]string{
			unableOnMistakes: "yes",
			exitCodes:        "0 success\n1 the tool failed, timed out or was cancelled\n2 could not run\n3 refused: denied, an approval is required, or busy\n4 there is no such tool, or the arguments are invalid",
		},
		RunE: func(c *cobra.Command, args []string) error {
			given, err := parseGiven(object, args[1:])
			if err != nil {
				return err
			}
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			q := callQuestion{Tool: args[0], Given: given, As: as}
			if as != "" {
				q.Token, _ = setting.Token(a.environ)
			}
			var result call.Result
			done := a.wait()
			err = a.ask(c.Context(), p, question{verb: "call", with: q, into: &result, state: true})
			done()
			if err != nil {
				return err
			}
			return a.printResult(result)
		},
	}
	c.Flags().StringVar(&as, "as", "", "call as `PRINCIPAL`; needs that caller's token in WRIT_TOKEN")
	c.Flags().StringVar(&object, "args", "", "all arguments as one `JSON` object")
	return c
}

// wait shows on a terminal that a call is still running, until the function
// that it returns is called.
func (a *app) wait() (done func()) {
	if a.json || !a.terminal(a.errors) {
		return func() {}
	}
	began, ticker, ended := a.now(), time.NewTicker(5*time.Second), make(chan struct{})
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintln(a.errors, a.paint(a.errors, dim, "still running after "+a.now().Sub(began).Round(time.Second).String()))
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}

// printResult prints the output of a call and chooses the exit code.
func (a *app) printResult(r call.Result) error {
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		a.printOutput(r)
	}
	if code := codeOf(r); code != exitFine {
		return ended{code}
	}
	return nil
}

func (a *app) printOutput(r call.Result) {
	if r.Output != "" {
		output := r.Output
		if a.terminal(a.out) {
			output = clean(output)
		}
		fmt.Fprint(a.out, output)
		if output[len(output)-1] != '\n' {
			fmt.Fprintln(a.out)
		}
	}
	for _, attachment := range r.Attachments {
		fmt.Fprintf(a.errors, "(a picture, %s, %s; --json prints it)\n", attachment.MediaType, count(len(attachment.Data), "byte"))
	}
	if r.Success {
		return
	}
	word := r.Code
	if word == "" {
		word = string(r.Status)
	}
	fmt.Fprintf(a.errors, "%s: %s\n", a.paint(a.errors, red, word), clean(r.Reason))
	switch r.Code {
	case "denied", "approval_required":
		fmt.Fprintln(a.errors, a.paint(a.errors, dim, "writ explain with the same arguments says why"))
	case "unknown_tool":
		fmt.Fprintln(a.errors, a.paint(a.errors, dim, "writ tools lists what there is"))
	}
}

func codeOf(r call.Result) int {
	switch {
	case r.Success:
		return exitFine
	case r.Code == "unknown_tool" || r.Code == "invalid_arguments":
		return exitInvalid
	case r.Status == call.Refused:
		return exitRefused
	}
	return exitFailed
}
