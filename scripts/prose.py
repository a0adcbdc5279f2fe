#!/usr/bin/env python3
"""Reports English that a human editor would mark, with the number of the rule below and with advice.

    prose.py                         # every file that git tracks here
    prose.py src/decide docs         # some directories or files
    prose.py --changed origin/main   # only sentences on lines that differ from a commit

Reads comments, strings that users see, Markdown, and descriptions in YAML, but no code spans or quotations: put a phrase
that must stay in backticks. Exits with 1 if too many passages break a rule. Rule 10, long sentences, does not count.
"""
import argparse
import collections
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

# Kinds: 'comment'; 'text', a string that users see; 'page', a paragraph of Markdown or a YAML description. The text has
# as many lines as in the file, so that a line can be found from an offset. BREAK marks the start of a list item or a
# table cell.
Passage = collections.namedtuple('Passage', 'path line kind text')
BREAK = '\f'

IS, NOT = r'(?:is|are|was|were)', r"(?:no|not|never|nobody|nothing|none|without|cannot|\w+n't)"
IN_CLAUSE = r"(?: (?!(?:if|when|because|since|and|or|so|unless|but|while|there|nor|not|no)\b)[\w'-]+){0,8}"
# Number, scope, pattern, advice. Scopes: the first sentence of a comment or text, any later sentence, or any place.
RULES = [(number, scope, re.compile(pattern, re.I), advice) for number, scope, pattern, advice in (
    (1, 'first', r'(?:of(?! (?:course|note)\b)|what\w*|where|who(?:m|se|ever)?|which|why|those|so (?:many|much))\b[^?]*$|'
                 r'that (?:the|an?|it|they|no|nothing|every|each|of)\b|(?:until|beside) [^,]*$|(?:by|for|in) which\b|'
                 r'(?-i:By) (?!\w+ing\b|default|then|now|the time|this|and\b|contrast|construction|definition)|'
                 r'as (?!an?\b|if|of|we\b|you\b|soon|long|with|the\b|this|these|there|such|well|above|per|always|\w+e[nd]\b|'
                 r'\w+ result|usual|shown|upstream)', 'open with a verb or a name'),
    (2, 'later', r'(?:what|whatever|where(?! (?:X|\$|possible|\w+ is\b))|who|whom)\b[^?]*[^?:]$', 'use a noun as subject'),
    (2, 'any', r'\b(?:by|for|with|without|at|beside|but|over|after|before|until|under|in|beyond) what\b|'
               r'; (?:what|where)\b', 'name the thing instead of "what"'),
    (3, 'any', rf'(?<!there )\b{IS} no (?!longer\b|more\b|different\b|better\b|less\b|smaller\b|good\b)', 'write "is not"'),
    (4, 'any', r'\b(?:whoever|somebody|(?-i:[Nn])obody|he|him|his|himself|(?:a|the|any|no|every) person|for people(?! who))\b|'
               r'(?:[;:] |\b(?:for|of|to|by|from|with|than|but|as|only|and|or) )who\b', 'name the actor'),
    (5, 'any', rf'(?:^|[;:,] |\b(?:{IS}|by|in|for) )(?:that|those) of\b|\bthere {IS}(?: none\b|(?=[.;)]|$))|[;:] those\b|'
               r'\bof those (?:that|who)\b|\b(?:has|have|had|is|are) none\b(?! of)|^one (?:that|of which)\b', 'repeat the noun'),
    (6, 'any', r'\b(?:is|are|was|were|be|been|being|gets?) (?:told(?! apart)|said|asked(?! to| for)|looked at)\b|'
               r'\b(?:tells?|told) (?:how|that|why|so)\b|\b(?:tells|says)[.;]|'
               r'\b(?:tells?|told|says?|said) (?:of|what|which|whether|who|where|no|nothing|nobody)\b|'
               r'\b(?:stands?|stood) (?:on|in(?! its place)|at|there|as|under|between|behind|here|with|where)\b|'
               r'\b(?:go|goes|went) (?:on\b(?! to)|by\b(?! (?:value|in)\b))|\b(?:comes?|came) by\b|'
               r'\b(?:becomes?|became|become|asks?|asked|known) of\b|\b(?:gets?|got) on\b(?! the)',
     'use the usual verb: report, show, set, use, request, check, continue'),
    (7, 'any', r'\b(?:anew|afresh|for ever|beside|now and then|in the midst|one after the other|at work|be it|'
               r'of before|taken for|mend(?:s|ed|ing)?|of no (?:meaning|interest|sense|use)|another (?:\w+ )?than)\b|'
               rf'\b(?:any|no) more(?=[.;,)]|$)|\b{IS} over(?=[.;,)]|$)|(?:^|\b(?:only|in|at most|after|by|of) )so (?:many|much)\b',
     'translate the sense, not the words'),
    (8, 'any', r',? but for (?:X|an?|the|this|that|those|what|who|one|its)\b|'
               r', for (?:it|they|he|nobody|nothing|there|this|these) \w+|'
               rf'\b{IS} to (?:be|go|start|stay|wait|get|stand|say|end|come)\b', 'write except, because, must'),
    (9, 'any', rf'\b{NOT}{IN_CLAUSE} (?:nobody|nothing|none|no)\b(?!-| longer| later| more than)', 'negate once'),
    (10, 'any', r'^(?:\S+\s+){30}\S', 'split this sentence: it has more than 30 words'),
    (11, 'any', r'\bunder way\b|\bwanted (?:revision|one|pod|state|version|driver|template)\b', 'use the standard term'),
)]
TESTS, TEST_NAME = re.compile(r'(^|/)tests?/|_test\.\w+$|(^|/)test_'), re.compile(r'\b(TEST_CASE|SUBCASE|It|t\.Run)\(\s*$')
NO_PROSE = re.compile(r'Copyright|Licensed under|SPDX-|^\s*(namespace|NOLINT|nolint|clang-format|go:|\+\w|shellcheck)', re.M)
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|`[^`]*`|' + r"'(?:\\.[^'\n]{0,8}|[^'\\\n])'", re.S)
MARKDOWN_BLOCK = re.compile(r'^ *\|.*|^#.*|^(?: *(?:[-*+]|\d+\.) )?.+\n?(?:^(?! *[-*+] | *\d+\. | *\||#).+\n?)*', re.M)
DESCRIPTION = re.compile(r'^( *)(?:- )?(?:description|summary|message): *(?:[>|][+-]?\n(?P<a>(?:\1 +.*\n|\n)+)|(?P<b>\S.*))', re.M)

Blank = lambda match: re.sub(r'[^\n]', ' ', match[0])  # keeps the offsets and the lines of the rest


def Block(path: str, line: int, lines: list[str]) -> Iterator[Passage]:
    """Yields a comment whose lines of code and tables are blank and whose list markers are BREAK."""
    prose, fenced, indented, after_blank = [], False, False, True
    for text in lines:
        indented = bool(text.strip()) and len(text) - len(text.lstrip()) >= 3 and (indented or after_blank)
        after_blank, text = not text.strip(), text.strip()
        fence = re.match(r'```|~~~|[@\\](end)?(code|verbatim)', text)
        fenced = fenced != bool(fence)
        is_code = fence or fenced or indented or re.search(r'[;{}\\]$|^[#<}|]|^\S+\(.*\);?$', text)
        prose.append('' if is_code else re.sub(r'^([-*•]|\d+[.)]|[@\\]\w+)\s', BREAK, text))
    words = re.findall(r"(?<![\w.:/-])[A-Za-z']+(?![\w:/-]*[\w/(])", ' '.join(prose))
    if len(words) >= 2 and not NO_PROSE.search('\n'.join(lines)):
        yield Passage(path, line, 'comment', '\n'.join(prose))


def IsUserText(text: str) -> bool:
    """Returns whether a string literal reads like a sentence: at least three plain words, and no command or markup."""
    words = re.findall(r"(?<![\w./:=-])[A-Za-z][a-z']+(?![\w./:=-]*[\w/:=(])", text)
    return len(words) >= 3 and sum(map(len, words)) * 2 > len(text) and not re.match(r'\s*(kubectl|[<{\[#-])', text)


def FromC(path: str, source: str) -> Iterator[Passage]:
    tokens, block, column, last = list(C_TOKEN.finditer(source)), [], 0, 0
    for match in (token for token in tokens if token[0][0] == '/'):
        line, before = source.count('\n', 0, match.start()) + 1, source[source.rfind('\n', 0, match.start()) + 1:match.start()]
        if before.strip() or len(before) != column or line != last + 1:
            yield from Block(path, last - len(block) + 1, block)
            block = []
        block += [re.sub(r'^//+!?<?|^\s*(/\*+!?|\*(?!/))|\*/$', '', part) for part in match[0].split('\n')]
        column, last = len(before), line + match[0].count('\n')
    yield from Block(path, last - len(block) + 1, block)
    code = C_TOKEN.sub(lambda match: match[0] if match[0][0] == '"' else Blank(match), source)
    for match in re.finditer(r'(?:"(?:\\.|[^"\\\n])*"\s*)+', code):
        text = re.sub(r'"[ \t]*(\n\s*)?"|^"|"\s*$', r'\1', match[0]).replace('\\n', BREAK).replace('\\"', '"')
        start = match.start()
        if IsUserText(text) and (not TESTS.search(path) or TEST_NAME.search(code, max(0, start - 30), start)):
            yield Passage(path, source.count('\n', 0, start) + 1, 'text', text)


def FromScript(path: str, source: str) -> Iterator[Passage]:
    block = []
    for number, line in enumerate(source.split('\n') + [''], 1):
        before, mark, comment = re.match(r'(.*?(?:(?<=\s)|^))(#(?![!{])|$)(.*)', line + ' ').groups()
        if block and (before.strip() or not mark):
            yield from Block(path, number - len(block), block)
            block = []
        if mark and before.strip():
            yield from Block(path, number, [comment.strip()])
        elif mark:
            block.append(comment)
    for match in re.finditer(r'^\s*"""(.*?)"""', source if path.endswith('.py') else '', re.M | re.S):
        yield from Block(path, source.count('\n', 0, match.start(1)) + 1, match[1].split('\n'))
    for match in DESCRIPTION.finditer(source if path.endswith(('.yaml', '.yml')) else ''):
        start, text = match.start(match.lastgroup), match[match.lastgroup].strip('"\'')
        yield Passage(path, source.count('\n', 0, start) + 1, 'page', text)


def FromMarkdown(path: str, source: str) -> Iterator[Passage]:
    source = re.sub(r'^ *(```|~~~).*?^ *\1[^\n]*|<!--.*?-->|<[^<>]+>', Blank, source, flags=re.S | re.M)
    source = re.sub(r'\]\([^()\s]*(\([^()]*\))?[^()]*\)|^\[[^\]]+\]: .*|\[(?=[^\]])|\*\*', Blank, source, flags=re.M)
    for match in MARKDOWN_BLOCK.finditer(source):
        text = re.sub(r'^ *([-*+]|\d+\.) +', BREAK, match[0])
        text = re.sub(r' *\| *(?=.)', BREAK + '| ', text) if text.lstrip().startswith('|') else text
        if len(re.findall(r'[A-Za-z]{2,}', text)) >= 2:
            yield Passage(path, source.count('\n', 0, match.start()) + 1, 'page', text)


READERS = {'.md': FromMarkdown} | dict.fromkeys(('.h', '.cc', '.c', '.go'), FromC)
READERS |= dict.fromkeys(('.py', '.sh', '.cmake', '.yaml', '.yml'), FromScript)


def Read(path: str) -> Iterator[Passage]:
    if Path(path).suffix in READERS and Path(path).is_file() and Path(path).stat().st_size < 1_000_000:
        source = Path(path).read_text(errors='replace')
        if not re.search(r'DO NOT EDIT|@generated', source[:2000]):
            yield from READERS[Path(path).suffix](path, source)


def Findings(passage: Passage) -> Iterator[tuple[range, int, str, str]]:
    """Yields the lines of the sentence, the number of the rule, the words found, and the advice."""
    code = r'`[^`\n]*`|"[^"\n]*"|https?://\S+|\{[^{}\n]*\}|%[-+.#\d]*[a-zA-Z]'
    text, start, is_first = re.sub(code, lambda match: 'X' * len(match[0]), passage.text), 0, passage.kind != 'page'
    for end in re.finditer(r'(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z(])|\n[ \t]*\n|\f| · |\Z', text):
        line = passage.line + text.count('\n', 0, start + len(text[start:]) - len(text[start:].lstrip()))
        lines = range(line, passage.line + text.count('\n', 0, end.start()) + 1)
        sentence, start = ' '.join(text[start:end.start()].split()), end.end()
        for number, scope, pattern, advice in RULES if sentence else ():
            match = pattern.search(sentence) if scope == 'any' else pattern.match(sentence)
            if match and (scope == 'any' or (scope == 'first') == is_first):
                yield lines, number, sentence[match.start():match.start() + 50], advice
        is_first = is_first and not sentence


def Git(*arguments: str) -> list[str]:
    return subprocess.run(['git', *arguments], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()


def ChangedLines(base: str, paths: list[str]) -> dict[str, set[int]]:
    lines, path = collections.defaultdict(set), ''
    for line in Git('diff', '-U0', '--no-prefix', '--relative', base, '--', *paths):
        if match := re.match(r'\+\+\+ (.*)|@@ \S+ \+(\d+)(?:,(\d+))? @@', line):
            path, first = match[1] or path, int(match[2] or 0)
            lines[path].update(range(first, first + int(match[3] or 1)))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--changed', metavar='BASE', help='check only sentences on lines that differ from this commit')
    parser.add_argument('--max-share', type=float, default=1, metavar='PERCENT',
                        help='highest accepted share of passages that break a rule (default: %(default)s)')
    parser.add_argument('paths', nargs='*', default=['.'], help='files and folders (default: the current folder)')
    options = parser.parse_args()
    changed = ChangedLines(options.changed, options.paths) if options.changed else None
    counts = collections.defaultdict(collections.Counter)
    files = Git('ls-files', '--', *options.paths) if changed is None else changed
    for passage in (passage for path in files for passage in Read(path)):
        if changed and changed[passage.path].isdisjoint(passage.line + n for n in range(passage.text.count('\n') + 1)):
            continue
        findings = [finding for finding in Findings(passage)
                    if changed is None or not changed[passage.path].isdisjoint(finding[0])]
        for lines, number, words, advice in findings:
            print(f'{passage.path}:{lines[0]}: [{number}] "{words}": {advice}')
        odd, long = (any((number == 10) == is_long for _, number, _, _ in findings) for is_long in (False, True))
        for folder in ('/'.join(Path(passage.path).parts[:-1][:2]) or '.', 'TOTAL'):
            counts[folder].update({passage.kind: 1, passage.kind + ' odd': odd, 'all': 1, 'odd': odd, 'long': long})
    print(f'\n{"folder":28}' + ''.join(f'{head:>16}' for head in ('comments', 'texts', 'pages', 'all odd', 'all long')))
    for folder, count in sorted(counts.items(), key=lambda item: (item[0] == 'TOTAL', item)):
        kinds = ''.join(f'{count[kind + " odd"]:7} of {count[kind]:5}' for kind in ('comment', 'text', 'page'))
        print(f'{folder:28}{kinds}{count["odd"] / count["all"]:16.1%}{count["long"] / count["all"]:16.1%}')
    return int(100 * counts['TOTAL']['odd'] > options.max_share * counts['TOTAL']['all'])


if __name__ == '__main__':
    sys.exit(main())
