#!/usr/bin/env python3
"""Reads lattices of `linnet decode --lattice` by the rules of Kaldi's text archives and of Graphviz, and
compares their paths with the n-best list of the same search. Uses no code of Linnet, and only the standard library.

    check_lattice.py LATTICES DOT SYMBOLS NBEST.json

Kaldi: a line "ID ", then lines "FROM TO WORD G,A,ALIGNMENT" and "STATE G,A,ALIGNMENT", separated by tabs, and an empty
line; the first state is the start, missing costs are 0 (CompactLattice in kaldi-lattice.cc).
"""

import json
import re
import sys


def costs(text):
    graph, acoustic, alignment = text.split(",")
    assert alignment == "", text
    return float(graph), float(acoustic)


def read_kaldi(path):
    lattices = {}
    for block in open(path).read().split("\n\n"):
        if not block.strip():
            continue
        head, *lines = block.split("\n")
        assert head.endswith(" ") and head.split() == [head[:-1]], head
        arcs, finals, start = {}, {}, None
        for line in filter(None, lines):
            fields = line.split("\t")
            assert len(fields) in (1, 2, 3, 4), line
            start = fields[0] if start is None else start
            if len(fields) <= 2:
                finals[fields[0]] = costs(fields[1]) if len(fields) == 2 else (0, 0)
            else:
                weight = costs(fields[3]) if len(fields) == 4 else (0, 0)
                arcs.setdefault(fields[0], []).append((fields[1], int(fields[2]), weight))
        assert head[:-1] not in lattices, head
        lattices[head[:-1]] = start, arcs, finals
    return lattices


def paths(lattice):
    """All (symbols, graph cost, acoustic cost)."""
    start, arcs, finals = lattice
    stack, found = [(start, (), 0.0, 0.0)] if start is not None else [], []
    while stack:
        state, symbols, graph, acoustic = stack.pop()
        if state in finals:
            found.append((symbols, graph + finals[state][0], acoustic + finals[state][1]))
        for to, symbol, (g, a) in arcs.get(state, []):
            stack.append((to, symbols + (symbol,), graph + g, acoustic + a))
    return found


STRING = r'"((?:[^"\\]|\\.)*)"'


def read_dot(path):
    """The graphs of a file as {id: (labels of states, final ones, arcs)}; fails on any other line."""
    graphs, graph = {}, None
    for line in open(path):
        line = line.rstrip("\n")
        if match := re.fullmatch(rf"digraph {STRING} {{", line):
            graph = graphs.setdefault(match[1], ({}, set(), []))
        elif match := re.fullmatch(rf"  (\d+) \[(shape = doublecircle, )?label = {STRING}\];", line):
            graph[0][match[1]] = match[3]
            if match[2]:
                graph[1].add(match[1])
        elif match := re.fullmatch(rf"  (\d+) -> (\d+) \[label = {STRING}\];", line):
            graph[2].append((match[1], match[2], re.sub(r"\\(.)", r"\1", match[3].split("\\n")[0])))
        else:
            assert line in ("  rankdir = LR;", "  node [shape = circle];", "}"), line
    return graphs


def main(lattice_path, dot_path, symbols_path, nbest_path):
    names = [line.split()[0] for line in open(symbols_path)]
    lattices, dots = read_kaldi(lattice_path), read_dot(dot_path)
    results = [json.loads(line) for line in open(nbest_path)]
    assert list(lattices) == list(dots) == [r["utterance"] for r in results]
    compared = 0
    for result in results:
        lattice, (states, finals, arcs) = lattices[result["utterance"]], dots[result["utterance"]]
        found = {tuple(names[s] for s in symbols): (graph, acoustic) for symbols, graph, acoustic in paths(lattice)}
        assert len(found) == len(paths(lattice)) == len(result["hypotheses"])
        for h in result["hypotheses"]:
            graph, acoustic = found[tuple(p["symbol"] for p in h["phones"])]
            assert abs(acoustic + h["acoustic"]) < 1e-3, (h["acoustic"], acoustic)
            assert abs(graph + acoustic + h["score"]) < 1e-3, (h["score"], graph, acoustic)
            compared += 1
        expected = [(f, t, names[s]) for f in lattice[1] for t, s, _ in lattice[1][f]]
        assert sorted(expected) == sorted(arcs) and finals == set(lattice[2]) and len(states) == len(set(states))
    print(f"{len(results)} lattices, {compared} paths as in the n-best list")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
