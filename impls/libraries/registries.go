package libraries

import (
	"fmt"
	"strings"
)

// registry describes how packages of a registry are installed.
type registry struct {
	language string
	adapter  string // prefix of the paths of the adapter's files
	library  string // prefix of the paths of the library for workers

	// project returns the files of a project that needs these packages. The packages are name:version, and the first is the
	// library to test.
	project func(packages []string) map[string]string

	// commands returns the commands that download the packages and build the adapter.
	commands func(packages []string) [][]string

	contents func(folder string) ([]string, error) // see Choice.Contents
}

// registries holds the registries by name. The tools take the addresses of registries from their own configuration.
var registries = map[string]registry{
	"maven":  {"java", "adapter/", "sdk/", mavenProject, mavenCommands, files("lib/*", jars)},
	"go":     {"go", "", "sdk/", goProject, goCommands, goModules},
	"crates": {"rust", "src/", "sdk/", crateProject, crateCommands, crates},
	"pypi":   {"python", "", "", noProject, pypiCommands, files("*", dists)},
	"npm":    {"node", "", "", noProject, npmCommands, nodeModules},
}

func noProject([]string) map[string]string { return nil }

// split separates the name and the version of a package. A name may contain a colon, as in Maven.
func split(pack string) (name, version string) {
	at := strings.LastIndexByte(pack, ':')
	return pack[:at], pack[at+1:]
}

// joined returns the packages with a separator between name and version.
func joined(packages []string, separator string) []string {
	var all []string
	for _, pack := range packages {
		name, version := split(pack)
		all = append(all, name+separator+version)
	}
	return all
}

func mavenProject(packages []string) map[string]string {
	var b strings.Builder
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>lockbench</groupId><artifactId>library</artifactId><version>1</version><dependencies>
`)
	for _, pack := range packages {
		name, version := split(pack)
		group, artifact := split(name)
		fmt.Fprintf(&b, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n", group, artifact, version)
	}
	b.WriteString("</dependencies></project>\n")
	return map[string]string{"pom.xml": b.String()}
}

func mavenCommands([]string) [][]string {
	return [][]string{
		{"mvn", "-B", "-q", "dependency:copy-dependencies", "-DoutputDirectory=lib"},
		{"sh", "-c", "javac -nowarn -d classes -cp 'lib/*' sdk/src/main/java/lockbench/*.java adapter/*.java"},
	}
}

func goProject([]string) map[string]string {
	return map[string]string{
		"sdk/go.mod": "module lockbench/impls/worker/go\n\ngo 1.21\n",
		"go.mod":     "module adapter\n\ngo 1.21\n\nrequire lockbench/impls/worker/go v0.0.0\n\nreplace lockbench/impls/worker/go => ./sdk\n",
	}
}

func goCommands(packages []string) [][]string {
	get := []string{"go", "get"}
	for _, pack := range packages {
		name, version := split(pack)
		get = append(get, name+"@v"+strings.TrimPrefix(version, "v"))
	}
	return [][]string{get, {"sh", "-c", "go build -mod=mod -o worker ./*.go"}} // the adapters have the build tag "ignore", so they are named
}

// crateProject returns a project that depends on exactly this version of the library. A package name/feature enables a feature of
// a crate, which may be named several times.
func crateProject(packages []string) map[string]string {
	library, exact := split(packages[0])
	names, versions, features := []string{library}, map[string]string{library: "=" + exact}, map[string][]string{}
	for _, pack := range packages[1:] {
		name, version := split(pack)
		name, feature, enabled := strings.Cut(name, "/")
		if versions[name] == "" {
			names, versions[name] = append(names, name), version
		}
		if enabled {
			features[name] = append(features[name], fmt.Sprintf("%q", feature))
		}
	}
	var b strings.Builder
	b.WriteString("[package]\nname = \"adapter\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n[dependencies]\nlockbench-worker = { path = \"sdk\" }\n")
	for _, name := range names {
		fmt.Fprintf(&b, "%s = { version = %q, features = [%s] }\n", name, versions[name], strings.Join(features[name], ", "))
	}
	return map[string]string{"Cargo.toml": b.String()}
}

func crateCommands([]string) [][]string {
	return [][]string{
		{"cargo", "build", "--quiet", "--release", "--target-dir", "target"},
		{"sh", "-c", "cp target/release/adapter worker && rm -rf target"},
	}
}

// pypiCommands installs the packages into the folder of the adapter, from where Python imports them.
func pypiCommands(packages []string) [][]string {
	return [][]string{append([]string{"python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action", "ignore",
		"--upgrade", "--target", "."}, joined(packages, "==")...)}
}

// npmCommands installs the library and only those additional packages that are named.
func npmCommands(packages []string) [][]string {
	return [][]string{append([]string{"npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--no-save",
		"--ignore-scripts", "--legacy-peer-deps", "--prefix", "."}, joined(packages, "@")...)}
}
