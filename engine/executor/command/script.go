package command

import (
	"path/filepath"
	"slices"
	"strings"
)

// A script or program that is named by a relative path is read from wherever
// the server happens to stand, and an argument inside code is code. Both are
// refused when the tool is loaded (SYNTAX §1.4).

// interpreters run a file that is named by an argument. The value lists the
// options whose next argument is code.
func interpreters() map[string][]string {
	shell := []string{"-c"}
	return map[string][]string{
		"sh": shell, "bash": shell, "dash": shell, "ash": shell, "zsh": shell, "ksh": shell, "mksh": shell, "fish": shell,
		"python": shell, "pypy": shell, "pwsh": {"-c", "-Command", "-EncodedCommand"}, "powershell": {"-c", "-Command"},
		"perl": {"-e", "-E"}, "ruby": {"-e"}, "lua": {"-e"}, "node": {"-e", "-p", "--eval", "--print"}, "nodejs": {"-e", "-p", "--eval", "--print"},
		"bun": {"-e", "--eval"}, "deno": {"eval"}, "php": {"-r"}, "rscript": {"-e"}, "osascript": {"-e"}, "tclsh": nil,
	}
}

// program checks what argv says about which program and which script run.
func (c *compiler) program() {
	if len(c.block.Argv) == 0 {
		return
	}
	name := c.block.Argv[0]
	if strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		c.mistakes.Errorf(c.at("argv", 0), "relative-program", "the program %q is a relative path, which depends on where the server was started", name).
			Hinted("write a name that is found in PATH, or an absolute path")
		return
	}
	at := 0
	if base(name) == "env" { // env NAME=VALUE program: the program is what counts
		for at = 1; at < len(c.block.Argv); at++ {
			if word := c.block.Argv[at]; !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				break
			}
		}
		if at == len(c.block.Argv) {
			return
		}
		if strings.Contains(c.block.Argv[at], "${") {
			c.mistakes.Errorf(c.at("argv", at), "program-slot", "the program cannot come from a slot")
			return
		}
	}
	if code, ok := interpreters()[base(c.block.Argv[at])]; ok {
		c.script(at, code)
	}
}

// base is the name of a program without folder, version and suffix.
func base(program string) string {
	name := strings.ToLower(filepath.Base(program))
	return strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.")
}

func (c *compiler) script(at int, code []string) {
	first := true
	for i := at + 1; i < len(c.block.Argv); i++ {
		word := c.block.Argv[i]
		if isCode(word, code) {
			if i+1 < len(c.block.Argv) && strings.Contains(c.block.Argv[i+1], "${") {
				c.mistakes.Errorf(c.at("argv", i+1), "slot-in-code", "an argument inside code becomes code").
					Hinted("pass it behind the code as an argument of its own, and read it there as \"$1\" or the like")
			}
			return // what follows is data
		}
		if word == "-m" {
			return // a module, found where the interpreter looks for them
		}
		if strings.HasPrefix(word, "-") || strings.Contains(word, "${") {
			first = first && strings.HasPrefix(word, "-")
			continue
		}
		if (first || looksLikeScript(word)) && !filepath.IsAbs(word) && word != "run" {
			c.mistakes.Errorf(c.at("argv", i), "relative-script", "the script %q is a relative path, which depends on the folder that the program runs in", word).
				Hinted("write an absolute path")
			return
		}
		if filepath.IsAbs(word) {
			return
		}
		first = word == "run"
	}
}

// isCode also sees -c among short options, as in bash -euc.
func isCode(word string, code []string) bool {
	if slices.Contains(code, word) {
		return true
	}
	return len(word) > 2 && word[0] == '-' && word[1] != '-' && slices.ContainsFunc(code, func(option string) bool {
		return len(option) == 2 && strings.HasSuffix(word, option[1:])
	})
}

func looksLikeScript(word string) bool {
	return strings.ContainsRune(word, '/') || slices.Contains([]string{".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".pl", ".rb", ".php", ".lua", ".ps1", ".tcl", ".r", ".awk"}, strings.ToLower(filepath.Ext(word)))
}
