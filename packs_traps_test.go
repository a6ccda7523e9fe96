package writ_test

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// trap is one way in which a repository can make git do more than read it.
// Each line of proof is a command; one of them springs the trap. A trap
// without proof is one that git keeps shut today in the way that we use it.
// Mild traps can all be set in one repository, which saves most of the time.
type trap struct {
	name  string
	set   func(*site)
	proof [][]string
	mild  bool
}

func git(arguments ...string) []string { return append([]string{"git"}, arguments...) }

// configured is a trap that is one piece of .git/config.
func configured(name, text string, proof ...[]string) trap {
	return trap{name, func(s *site) { s.config(text) }, proof, true}
}

// attributed is a trap that .gitattributes springs.
func attributed(name, attributes, text string, proof ...[]string) trap {
	return trap{name, func(s *site) { s.write(".gitattributes", "*.txt "+attributes+"\n"); s.config(text) }, proof, true}
}

func traps() []trap {
	status, diff, add, commit := git("status"), git("diff"), git("add", "f.txt"), git("commit", "-m", "x")
	push, fetch := git("push", "origin", "main"), git("fetch", "origin")
	return []trap{
		configured("fsmonitor", `[core]fsmonitor=BAIT`, status),
		configured("include", "[include]path=OUT/evil", status),
		configured("include by folder", "[includeIf \"gitdir:**\"]path=OUT/evil", status),
		configured("external diff", "[diff]external=BAIT", diff),
		configured("editors", "[core]editor=BAIT\n[sequence]editor=BAIT", git("commit")),
		configured("pagers", "[core]pager=BAIT\n[pager]log=BAIT\ndiff=BAIT\nbranch=BAIT\nblame=BAIT\nshow=BAIT\nstatus=BAIT"),
		configured("signing", "[commit]gpgSign=true\n[push]gpgSign=true\n[gpg]program=BAIT", commit),
		configured("signing with a key command", "[commit]gpgSign=true\n[gpg]format=ssh\n[gpg \"ssh\"]defaultKeyCommand=BAIT", commit),
		configured("trailers", "[trailer \"with\"]command=BAIT\nifmissing=add\n", git("interpret-trailers", "f.txt")),
		configured("alias", "[alias]evil=!BAIT\nstatus=!BAIT\nlog=!BAIT", git("evil")),
		configured("ssh command", "[core]sshCommand=BAIT\n[remote \"origin\"]url="+remoteURL, push),
		configured("git proxy", "[core]gitProxy=BAIT\n[remote \"origin\"]url=git://example.com/x", fetch),
		configured("credentials", "[credential]helper=BAIT\n[core]askPass=BAIT", git("credential", "fill")),
		configured("transport", "[protocol]allow=always\n[remote \"origin\"]url=\"ext::BAIT\"", fetch),
		configured("instead of", "[protocol]allow=always\n[url \"ext::BAIT \"]insteadOf=ssh:\n[remote \"origin\"]url="+remoteURL, fetch),
		configured("push instead of", "[protocol]allow=always\n[url \"ext::BAIT \"]pushInsteadOf=ssh:\n[remote \"origin\"]url="+remoteURL, push),
		configured("push address", "[protocol]allow=always\n[remote \"origin\"]url="+remoteURL+"\npushurl=\"ext::BAIT\"", push),
		configured("receive-pack", "[remote \"origin\"]url=OUT/other\nreceivepack=BAIT", push),
		configured("upload-pack", "[remote \"origin\"]url=OUT/other\nuploadpack=BAIT", fetch),
		configured("remote helper", "[remote \"origin\"]url="+remoteURL+"\nvcs=ext\n[protocol]allow=always"),
		configured("line after line", "[user]name=\"x\\ncore.fsmonitor=true\\nuser.name=y\"\n[core]fsmonitor=BAIT", status),
		configured("quotes in a name", "[user]name=\"x\\\"\\n[core]fsmonitor=BAIT\"\n[core]fsmonitor=BAIT", status),
		attributed("filter clean", "filter=evil", "[filter \"evil\"]clean=BAIT", add),
		attributed("filter process", "filter=evil", "[filter \"evil\"]process=BAIT", add),
		attributed("filter smudge", "filter=evil", "[filter \"evil\"]smudge=BAIT", git("checkout", "f.txt")),
		attributed("required filter", "filter=evil", "[filter \"evil\"]clean=BAIT\nrequired=true", diff),
		attributed("diff driver", "diff=evil", "[diff \"evil\"]command=BAIT", diff),
		attributed("textconv", "diff=evil", "[diff \"evil\"]textconv=BAIT", git("show")),
		attributed("textconv of blame", "diff=evil", "[diff \"evil\"]textconv=BAIT", git("blame", "f.txt")),
		attributed("merge driver", "merge=evil", "[merge \"evil\"]driver=BAIT %A", git("stash"), git("merge", "side")),
		{"attributes file", func(s *site) {
			mustWrite(s.t, filepath.Join(s.outside, "attributes"), "* filter=evil diff=evil\n", 0o644)
			s.config("[core]attributesFile=OUT/attributes\n[filter \"evil\"]clean=BAIT\n[diff \"evil\"]textconv=BAIT")
		}, [][]string{diff}, false},
		{"attributes in .git", func(s *site) {
			s.write(".git/info/attributes", "* filter=evil diff=evil\n")
			s.config("[filter \"evil\"]clean=BAIT\n[diff \"evil\"]command=BAIT")
		}, [][]string{diff}, false},
		{"hooks", func(s *site) { s.hooks(".git/hooks") }, [][]string{commit}, true},
		{"hooks path", func(s *site) { s.hooks("hooks"); s.config("[core]hooksPath=hooks") }, [][]string{commit}, false},
		{"signature", setSignature, [][]string{git("log")}, false},
		{"worktree configuration", func(s *site) {
			s.config("[core]repositoryformatversion=1\n[extensions]worktreeConfig=true")
			s.write(".git/config.worktree", s.fill("[core]fsmonitor=BAIT\n"))
		}, [][]string{status}, false},
		{"common folder", func(s *site) {
			s.plain("cp", "-r", ".git", filepath.Join(s.outside, "common"))
			mustWrite(s.t, filepath.Join(s.outside, "common/config"), s.fill("[core]fsmonitor=BAIT\n"), 0o644)
			s.write(".git/commondir", filepath.Join(s.outside, "common")+"\n")
		}, [][]string{status}, false},
		{".git is a file", func(s *site) { s.moveGit(false) }, [][]string{status}, false},
		{".git is a link", func(s *site) { s.moveGit(true) }, [][]string{status}, false},
		{"submodule", setSubmodule, [][]string{status}, false},
		{"submodule update", func(s *site) {
			setSubmodule(s)
			s.config("[submodule \"sub\"]update=!BAIT\nurl=OUT/other\nactive=true")
		}, [][]string{git("submodule", "update", "--force")}, false},
		{"bare repository", func(s *site) {
			s.plain("sh", "-c", "cp -r .git/. . && rm -rf .git")
			s.write("config", s.fill("[core]bare=false\nworktree=.\nfsmonitor=BAIT\n"))
		}, [][]string{git("--git-dir=.", "--work-tree=.", "status")}, false},
		{"lazy fetch", func(s *site) {
			s.plain("sh", "-c", "rm -f .git/objects/$(git rev-parse side:f.txt | sed 's#^..#&/#') .git/objects/$(git rev-parse main:f.txt | sed 's#^..#&/#')")
			s.config("[core]repositoryformatversion=1\n[extensions]partialClone=origin\n[remote \"origin\"]promisor=true\nurl=OUT/other\nuploadpack=BAIT")
		}, [][]string{git("show", "main:f.txt")}, false},
		{"alternates command", func(s *site) {
			s.other()
			s.write(".git/objects/info/alternates", filepath.Join(s.outside, "other/.git/objects")+"\n")
			s.config("[core]alternateRefsCommand=BAIT\n[remote \"origin\"]url=OUT/other")
		}, [][]string{fetch}, false},
		{"alternates", func(s *site) {
			commit := s.other()
			s.write(".git/objects/info/alternates", filepath.Join(s.outside, "other/.git/objects")+"\n")
			s.write(".git/refs/heads/main", commit)
		}, [][]string{git("log")}, false},
		{"linked objects", func(s *site) {
			commit := s.other()
			s.link(".git/objects", filepath.Join(s.outside, "other/.git/objects"))
			s.write(".git/refs/heads/main", commit)
		}, [][]string{git("log")}, false},
		{"other work tree", func(s *site) {
			mustWrite(s.t, filepath.Join(s.outside, "f.txt"), secretish+"\n", 0o644)
			s.config("[core]worktree=OUT")
		}, [][]string{diff}, false},
		{"linked index", func(s *site) {
			s.plain("mv", ".git/index", filepath.Join(s.outside, "index"))
			s.link(".git/index", filepath.Join(s.outside, "index"))
			s.config("[core]fsmonitor=BAIT")
		}, [][]string{status}, false},
		{"linked branches", func(s *site) {
			s.link(".git/logs", s.outside)
			s.link(".git/COMMIT_EDITMSG", filepath.Join(s.outside, "written"))
		}, nil, false},
		{"index above", func(s *site) { s.index("../../outside/secret") }, [][]string{diff}, false},
		{"index at the top", func(s *site) { s.index(s.secret) }, [][]string{diff}, false},
		{"index in .git", func(s *site) {
			s.write(".git/token", secretish+"\n")
			s.index(".git/token")
		}, [][]string{diff}, false},
		{"linked file", func(s *site) { s.link("f.txt", s.secret); s.link("sub", s.outside) }, nil, false},
		configured("ignored revisions", "[blame]ignoreRevsFile=SECRET", git("blame", "f.txt")),
		configured("commit template", "[commit]template=SECRET", git("-c", "core.editor=cat", "commit", "--allow-empty")),
	}
}

func (s *site) hooks(folder string) {
	for _, name := range strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
		post-commit post-checkout post-merge pre-push pre-receive update post-update reference-transaction pre-auto-gc post-rewrite
		fsmonitor-watchman post-index-change proc-receive sendemail-validate`) {
		s.write(filepath.Join(folder, name), s.fill("#!/bin/sh\nexec 'BAIT'\n"))
	}
}

func (s *site) link(name, target string) {
	s.t.Helper()
	path := filepath.Join(s.repo, name)
	if err := os.RemoveAll(path); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		s.t.Fatal(err)
	}
}

// moveGit moves .git outside, and leaves a file or a link that leads there.
func (s *site) moveGit(link bool) {
	s.config("[core]fsmonitor=BAIT\nworktree=" + `"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(s.repo) + `"`)
	moved := filepath.Join(s.outside, "moved.git")
	if err := os.Rename(filepath.Join(s.repo, ".git"), moved); err != nil {
		s.t.Fatal(err)
	}
	if link {
		s.link(".git", moved)
		return
	}
	s.write(".git", "gitdir: "+moved+"\n")
}

// other makes a repository outside whose only commit tells the secret.
func (s *site) other() string {
	s.plain("sh", "-c", s.fill("git init -q -b main 'OUT/other' && cd 'OUT/other' && git -c user.name=o -c user.email=o@example.com commit -q --allow-empty -m "+secretish))
	return s.plain("git", "-C", filepath.Join(s.outside, "other"), "rev-parse", "HEAD")
}

// setSubmodule puts a repository with a configuration of its own into the index.
func setSubmodule(s *site) {
	s.plain("sh", "-c", "git init -q -b main sub && cd sub && echo x >x && git add x && git -c user.name=o -c user.email=o@example.com commit -q -m x && cd .. && git -c advice.addEmbeddedRepo=false add sub && echo y >sub/x")
	s.write(".gitmodules", "[submodule \"sub\"]\npath=sub\nurl=./x\nignore=none\n")
	s.write("sub/.git/config", s.fill("[core]\nrepositoryformatversion=0\nfsmonitor=BAIT\n[diff]external=BAIT\n"))
}

// setSignature makes a signed commit that log.showSignature wants to verify.
func setSignature(s *site) {
	s.plain("sh", "-c", `{ git cat-file commit HEAD | sed '/^$/,$d'
printf 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n'; } >c
git update-ref refs/heads/main "$(git hash-object -t commit -w c)"`)
	s.config("[log]showSignature=true\n[gpg]program=BAIT")
}

// index writes an index with one entry of any name, which git itself refuses
// to make, and whose content is that of g.txt.
func (s *site) index(name string) {
	s.t.Helper()
	object, err := hex.DecodeString(strings.TrimSpace(s.plain("git", "rev-parse", "HEAD:g.txt")))
	if err != nil {
		s.t.Fatal(err)
	}
	entry := make([]byte, 40, 200)
	binary.BigEndian.PutUint32(entry[24:], 0o100644)
	entry = append(entry, object...)
	entry = binary.BigEndian.AppendUint16(entry, uint16(min(len(name), 0xfff)))
	entry = append(entry, name...)
	entry = append(entry, make([]byte, 8-len(entry)%8)...)
	data := append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"), entry...)
	sum := sha1.Sum(data)
	s.write(".git/index", string(append(data, sum[:]...)))
}
