"""Reads the planted defects, and inserts them into sources. Each list, `defects/*.txt`, contains for each defect:

  == name src/file.cc
  A sentence that describes the defect.
  - the text to find, which must occur exactly once
  + its replacement, with PLANTED true while the defect is on
  = the reason if no test can find it

If a text has several lines, each line starts with the mark. Uses only Python's standard library.
"""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = sorted((ROOT / "tests/planted/defects").glob("*.txt"))
MARKS = {"- ": "find", "+ ": "instead", "= ": "equivalent"}


@dataclasses.dataclass
class Defect:
    name: str
    source: str
    sentence: str = ""
    find: str = ""
    instead: str = ""
    equivalent: str = ""

    def check(self):
        if not (self.sentence and self.find and self.instead):
            raise SystemExit(f"planted defect {self.name}: needs a sentence, and lines with `- ` and with `+ `")
        if not re.search(r"\bPLANTED\b", self.instead):
            raise SystemExit(f"planted defect {self.name}: its replacement does not contain PLANTED")

    def plant(self, text):
        times = text.count(self.find)
        if times != 1:
            raise SystemExit(f"planted defect {self.name}: its text occurs {times} times in {self.source}, not once:\n{self.find}")
        on = f'::driverupgrade::planted::IsOn("{self.name}")'
        return text.replace(self.find, re.sub(r"\bPLANTED\b", on, self.instead))


def read_list(path):
    defects = []
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            defects.append(Defect(*line[3:].split()))
        elif line.strip() and not line.startswith("#"):
            field = MARKS.get(line[:2], "sentence")
            text = line[2:] if line[:2] in MARKS else line
            so_far = getattr(defects[-1], field)
            setattr(defects[-1], field, f"{so_far}\n{text}" if so_far else text)
    return defects


def read_all():
    defects = [defect for path in LISTS for defect in read_list(path)]
    for defect in defects:
        defect.check()
    names = [defect.name for defect in defects]
    if len(set(names)) < len(names):
        raise SystemExit(f"planted defects: duplicate names: {sorted(n for n in set(names) if names.count(n) > 1)}")
    return defects


def planted_source(source, defects):
    text = (ROOT / source).read_text()
    for defect in defects:
        if defect.source == source:
            text = defect.plant(text)
    return f'#include "planted.h"\n#line 1 "{source}"\n{text}'
