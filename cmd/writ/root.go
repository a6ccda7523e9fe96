package main

import (
	"github.com/spf13/cobra"
)

// command is the whole command line.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "writ",
		Short: "Written authority for tool calls",
		Long: `Written authority for tool calls: Writ serves tools to AI agents and decides, by
rules that you write in files, which of their calls may run.

A configuration is a folder with writ.yaml, tools.d (what can be called) and
policies (how risky it is, and what is denied). It is taken from --config, else
WRIT_CONFIG, else the current folder if it holds writ.yaml, else
$XDG_CONFIG_HOME/writ, else the packs in the binary.`,
		Example: `  writ init mytools            write a small configuration of your own
  writ check --config mytools  look for mistakes
  writ serve --config mytools  serve it over MCP`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          positional(cobra.NoArgs),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true})
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	flags := root.PersistentFlags()
	flags.StringVar(&a.config, "config", "", "configuration `DIR`: holds writ.yaml, tools.d and policies")
	flags.StringVar(&a.stateDir, "state-dir", "", "state `DIR`: database, tokens, socket (default below $XDG_STATE_HOME/writ)")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	flags.BoolVar(&a.noColor, "no-color", false, "print without colours (also NO_COLOR)")
	_ = root.MarkPersistentFlagDirname("config")
	_ = root.MarkPersistentFlagDirname("state-dir")
	root.AddCommand(
		a.serveCommand(), a.stdioCommand(),
		a.checkCommand(), a.testCommand(), a.explainCommand(), a.callCommand(),
		a.approvalsCommand(), a.approveCommand(), a.rejectCommand(), a.grantsCommand(), a.freezeCommand(), a.thawCommand(),
		a.toolsCommand(), a.schemaCommand(), a.initCommand(),
		a.statusCommand(), a.reloadCommand(), a.auditCommand(),
		a.versionCommand(), a.docsCommand(),
	)
	return root
}
