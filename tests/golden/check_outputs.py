#!/usr/bin/env python3
"""Reads tests/golden/outputs with independent readers and compares the results with the written spans.

praatio and textgrid for TextGrid, srt for SRT, webvtt-py for WebVTT, json for JSON lines. The expected values are those
of tests/unit/decoder/output/test_output.c. In a folder, every NAME.json has the expected values of NAME.TextGrid, NAME.srt
and NAME.vtt. Exit code 77 (skipped): a package is missing.

    pip install praatio textgrid srt webvtt-py && check_outputs.py [FOLDER]
"""

import html
import json
import pathlib
import sys

try:
    import srt
    import textgrid
    import webvtt
    from praatio import textgrid as praatio
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent / "outputs"
WORDS = [
    ("the", 0.03, 0.09), ('"quoted"', 0.09, 0.3), ("a<b>&c", 0.333333, 0.666667), ("gr\u00fc\u00df", 0.7, 0.9),
    ("two words", 0.9, 1.2), ("after", 2.5, 2.8), ("-->", 2.8, 2.9),
    ("pneumonoultramicroscopicsilicovolcanoconiosis", 3.0, 4.5), ("new line", 4.6, 4.9), ("back\\slash", 4.9, 4.9),
]
PHONES = [("DH", 0.03, 0.06), ("AH", 0.06, 0.09)]
CUES = [WORDS[:5], WORDS[5:7], WORDS[7:8], WORDS[8:]]
SHIFT = {"full": 0.0, "later": 3599.9996}


def close(a, b):
    return abs(a - b) <= 1.001e-3


def same(seen, expected):
    assert len(seen) == len(expected), (seen, expected)
    for (text, start, end), (wanted, first, last) in zip(seen, expected):
        assert text == wanted and close(start, first) and close(end, last), (text, start, end, wanted, first, last)


def same_tiers(path, expected):
    """`expected`: the spans of each tier."""
    tiers = textgrid.TextGrid.fromFile(path)
    grid = praatio.openTextgrid(path, includeEmptyIntervals=False)
    assert {tier.name for tier in tiers} == set(expected), path
    for tier in tiers:
        wanted = expected[tier.name]
        same([(i.mark, i.minTime, i.maxTime) for i in tier if i.mark], wanted)
        same([(e.label, e.start, e.end) for e in grid.getTier(tier.name).entries], wanted)
        edges = [tier.minTime] + [i.maxTime for i in tier]
        assert [i.minTime for i in tier] == edges[:-1] and edges[-1] == tiers.maxTime, "gaps"


def check_textgrid(name):
    path = str(HERE / f"{name}.TextGrid")
    shown = {"words": [w for w in WORDS if w[2] > w[1]] if name in SHIFT else [], "phones": PHONES}
    if name == "nothing":
        shown["phones"] = []
    if name == "later":
        shown["phones"] = []
    if name in ("phones", "nothing"):
        del shown["words"]
    same_tiers(path, shown)


def cues_of(name):
    shift = SHIFT[name]
    return [(" ".join(w[0] for w in cue), cue[0][1] + shift, cue[-1][2] + shift) for cue in CUES]


def read_srt(path):
    """(text, start, end) of each cue, without the word joiners that keep "<" from being a tag."""
    with open(path, encoding="utf-8") as file:
        cues = list(srt.parse(file))
    assert [c.index for c in cues] == list(range(1, len(cues) + 1))
    assert all("<" not in c.content.replace("<\u2060", "") for c in cues), "players would read a tag"
    return [(c.content.replace("\u2060", ""), c.start.total_seconds(), c.end.total_seconds()) for c in cues]


def read_vtt(path):
    captions = webvtt.read(str(path))
    return [(html.unescape(c.raw_text), c.start_in_seconds, c.end_in_seconds) for c in captions]


def check_subtitles(name):
    same(read_srt(HERE / f"{name}.srt"), cues_of(name))
    same_cues(read_vtt(HERE / f"{name}.vtt"), cues_of(name))


def same_cues(seen, expected):
    if any(start != int(start) for _, start, _ in seen):
        same(seen, expected)
    else:  # versions that drop the milliseconds
        assert [s[0] for s in seen] == [c[0] for c in expected]


def check_json(name):
    lines = (HERE / f"{name}.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    spans = [(w["word"].replace("\n", " "), w["start"], w["end"]) for w in json.loads(lines[0])["words"]]
    same(spans, [(t, a + SHIFT[name], b + SHIFT[name]) for t, a, b in WORDS])


def check_alternatives():
    line = json.loads((HERE / "several.json").read_text(encoding="utf-8"))
    seen = [(h["score"], h["language"], [p["symbol"] for p in h["phones"]]) for h in line["hypotheses"]]
    assert seen == [(-1.2346, None, ["DH", "AH"]), (-30, 0, ["AH"]), (-2e8, 0, [])], seen


def check_written(path):
    """The JSON that the command wrote beside `path`."""
    line = json.loads(path.read_text(encoding="utf-8"))
    tiers = {"phones": [(p["symbol"], p["start"], p["end"]) for p in line["phones"]]}
    if "words" in line:
        tiers["words"] = [(w["word"], w["start"], w["end"]) for w in line["words"]]
    same_tiers(str(path.with_suffix(".TextGrid")), {name: [s for s in t if s[2] > s[1]] for name, t in tiers.items()})
    cues = read_srt(path.with_suffix(".srt"))
    same_cues(read_vtt(path.with_suffix(".vtt")), cues)
    main = tiers.get("words", tiers["phones"])
    assert " ".join(c[0] for c in cues) == " ".join(s[0] for s in main), cues
    assert main and close(cues[0][1], main[0][1]) and close(cues[-1][2], main[-1][2]), cues


for grid in ("full", "later", "phones", "nothing"):
    check_textgrid(grid)
for file in ("full", "later"):
    check_subtitles(file)
    check_json(file)
check_alternatives()
for folder in sys.argv[1:]:
    written = sorted(pathlib.Path(folder).glob("*.json"))
    assert written, f"there is no JSON in {folder}"
    for file in written:
        check_written(file)
print("all formats read back")
