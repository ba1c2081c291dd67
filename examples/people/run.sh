#!/bin/sh
# Create a graph, load it, branch it, show that the branch alone has changed, ask it, merge it with one
# publish, and read it as a Flight SQL client does.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
OMNIGRAPH_STORE="$work/people.omni"
export OMNIGRAPH_STORE

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }

say omnigraph init "$here/people.pg" "$OMNIGRAPH_STORE"
say omnigraph load "$here/people.jsonl" --actor demo --message "first people"
say omnigraph branch create hiring
say omnigraph load "$here/newcomers.jsonl" --branch hiring --message "a new colleague"
say omnigraph branch list
say omnigraph snapshot --at main
say omnigraph snapshot --at hiring
say omnigraph snapshot Person --at hiring --columns name,age --filter "age > 30"
say omnigraph query reach --file "$here/people.gq" --params '{"name": "Ada"}' --at hiring
say omnigraph query staff --file "$here/people.gq" --at hiring
say omnigraph branch diff main hiring
say omnigraph branch merge hiring --plan
say omnigraph branch merge hiring --delete-source
say omnigraph sql "SELECT p.name, t.depth FROM person p JOIN traverse('Knows', 'Person', seed => 'Ada', max => 2) t ON t.id = p.id ORDER BY depth, name"
say omnigraph log --graph
say python "$here/over_flight.py" "$OMNIGRAPH_STORE"
say omnigraph verify
