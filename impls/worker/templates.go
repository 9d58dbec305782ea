package worker

import (
	"embed"
	"io/fs"
	"regexp"
	"strings"
)

// sources holds the templates and the libraries of the languages. A folder with a go.mod cannot be embedded, so _go contains
// a copy of the Go library, and its module files have the suffix .txt.
//
//go:embed */template java/src node/lockbench-worker.mjs python/lockbench_worker.py rust/Cargo.toml rust/src
var sources embed.FS

// Template is a complete worker in one language: an adapter for a plain lock on Redis, the library that carries the protocol,
// and a build file. It runs as it is.
type Template struct {
	Language string
	Adapter  string // file that a user edits to test another lock
	Install  string // command that installs the packages or builds the worker, in the worker's folder
	Command  string // command that starts the worker, in the worker's folder

	folder, library string // folder is the template's folder in the embedded files; library is the library's folder in a new worker
}

// Templates returns the template of each language.
func Templates() []Template {
	return []Template{
		{Language: "python", Adapter: "worker.py", Install: "pip install -r requirements.txt", Command: "python3 worker.py", folder: "python"},
		{Language: "node", Adapter: "worker.mjs", Install: "npm install", Command: "node worker.mjs", folder: "node"},
		{Language: "java", Adapter: "src/main/java/MyLock.java", Install: "mvn -q package",
			Command: "java -cp target/classes:target/dependency/* MyLock", folder: "java"},
		{Language: "rust", Adapter: "src/main.rs", Install: "cargo build --release", Command: "target/release/my-lock",
			folder: "rust", library: "lockbench-worker/"},
		{Language: "go", Adapter: "main.go", Install: "go build -o worker .", Command: "./worker", folder: "_go"},
	}
}

// moduleFiles restores the names go.mod and go.sum. The embedded files have the suffix .txt, because a folder with a go.mod
// cannot be embedded.
var moduleFiles = strings.NewReplacer("go.mod.txt", "go.mod", "go.sum.txt", "go.sum")

// Files returns the contents of the files of a new worker, by their paths with slashes.
func (t Template) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(sources, t.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, t.folder+"/")
		if own, ok := strings.CutPrefix(name, "template/"); ok {
			name = moduleFiles.Replace(own)
		} else {
			name = t.library + name
		}
		files[name], err = sources.ReadFile(path)
		return err
	})
	return files, err
}

// Library returns the files of the library that carries the protocol in a language, by their paths with slashes. The files for
// Go are a package; their go.mod is missing, because a folder with a go.mod cannot be embedded.
func Library(language string) (map[string][]byte, error) {
	folder, template := language, language+"/template"
	if language == "go" {
		folder, template = "_go/template/lockbenchworker", ""
	}
	files := map[string][]byte{}
	err := fs.WalkDir(sources, folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path == template {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		files[strings.TrimPrefix(path, folder+"/")], err = sources.ReadFile(path)
		return err
	})
	return files, err
}

var plainWord = regexp.MustCompile(`^[\w./+-]+$`)

// ShellWord quotes a word of a worker's command, if necessary, so that a shell reads it as one argument.
func ShellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
