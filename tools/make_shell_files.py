#!/usr/bin/env python3
"""make_shell_files.py QUERN FOLDER: writes the man pages of the program, and completions for bash, zsh and fish, out of what
its --help says. FOLDER gets man1/*.1.gz, bash/quern, zsh/_quern and fish/quern.fish.
"""

import gzip
import pathlib
import re
import shutil
import subprocess
import sys

SECTION = re.compile(r"^(Positionals|Options|Subcommands):$")
ENTRY = re.compile(r"^  (\S+)(?: (.*))?$")
TEXT_AT = 30


class Option:
    def __init__(self, names, value, text):
        self.names, self.value, self.text = names, value, text

    @property
    def choices(self):
        listed = re.search(r"\{([^{}]+)\}", self.value)
        if listed:
            return listed[1].split(",")
        word = re.sub(r" Needs:.*", "", self.value)
        return word.split("|") if re.fullmatch(r"[a-z][a-z-]*(\|[a-z][a-z-]*)+", word) else []

    @property
    def takes_file(self):
        return bool(re.match(r"(FILE|DIR)", self.value))


class Command:
    """A command as its --help tells of it."""

    def __init__(self, quern, words, what):
        self.words, self.what = words, what
        lines = subprocess.run([quern, *words, "--help"], check=True, capture_output=True, text=True).stdout.splitlines()
        usage = next(i for i, line in enumerate(lines) if line.startswith("Usage:"))
        self.usage = lines[usage].removeprefix("Usage: ")
        self.positionals, self.options, subcommands, rest = [], [], [], []
        section = None
        for line in lines[usage + 1:]:
            heading, entry = SECTION.match(line), ENTRY.match(line)
            if heading and not rest:
                section = heading[1]
            elif section and entry and entry[1] != "":
                name, text = line[2:].rstrip(), ""
                short = line[:TEXT_AT] # not where a range of numbers, [1 - 9], reaches beyond it
                if len(line) > TEXT_AT and short[-1] == " " and line[TEXT_AT] not in " [" and short.count("[") == short.count("]"):
                    name, text = line[2:TEXT_AT].rstrip(), line[TEXT_AT:]
                name, _, value = name.partition(" ")
                value = re.sub(r"(?<! in) \[([^\]]+)\] *", r"=\1 ", value).rstrip() # as CLI11 had it before 2.4
                if section == "Options":
                    self.options.append(Option(name.split(","), value, text))
                elif section == "Positionals":
                    self.positionals.append(Option([name], value, text))
                else:
                    subcommands.append((name, text))
            elif section and line.startswith(" " * TEXT_AT):
                (self.options if section == "Options" else self.positionals)[-1].text = line.strip()
            elif line:
                section = None
                rest.append(line)
            elif section is None and rest:
                rest.append("")
        self.rest = rest
        self.subcommands = [Command(quern, [*words, name], text) for name, text in subcommands]

    def all(self):
        yield self
        for one in self.subcommands:
            yield from one.all()

    @property
    def name(self):
        return "-".join(["quern", *self.words])


def roff(text):
    out = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + out if out.startswith((".", "'")) else out


def man_page(command, version):
    out = [f'.TH "{command.name.upper()}" 1 "" "quern {version}" "User Commands"', ".SH NAME",
        f"{roff(command.name)} \\- {roff(command.what[:1].lower() + command.what[1:])}", ".SH SYNOPSIS",
        roff(command.usage)]
    for title, entries in (("ARGUMENTS", command.positionals), ("OPTIONS", command.options)):
        if entries:
            out.append(f".SH {title}")
        for one in entries:
            out += [".TP", f"\\fB{roff(', '.join(one.names))}\\fR {roff(one.value)}".rstrip(), roff(one.text)]
    if command.subcommands:
        out.append(".SH COMMANDS")
        for one in command.subcommands:
            out += [".TP", f"\\fB{roff(one.words[-1])}\\fR", roff(one.what), f"See \\fB{roff(one.name)}\\fR(1)."]
    if command.rest:
        out += [".SH DESCRIPTION", ".nf", *[roff(line) for line in command.rest], ".fi"]
    return "\n".join(out) + "\n"


def bash(root):
    cases = []
    for command in root.all():
        words = [name for one in command.options for name in one.names] + [one.words[-1] for one in command.subcommands]
        cases.append(f'    "{" ".join(command.words)}") words="{" ".join(words)}" ;;')
    values = {name: one.choices for command in root.all() for one in command.options if one.choices for name in one.names}
    files = sorted({name for command in root.all() for one in command.options if one.takes_file for name in one.names})
    path = " ".join(sorted({word for command in root.all() for word in command.words}))
    chosen = "\n".join(f'    {name}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$now")); return ;;'
        for name, words in sorted(values.items()))
    return f"""# bash completion for quern

_quern() {{
    local now=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} at= word words i
    case $before in
{chosen}
    {"|".join(files)}) COMPREPLY=($(compgen -f -- "$now")); return ;;
    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        case " {path} " in *" $word "*) at="${{at:+$at }}$word" ;; esac
    done
    case $at in
{chr(10).join(cases)}
    *) words= ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$now"))
    if [[ ${{#COMPREPLY[@]}} -eq 0 && $now != -* ]]; then COMPREPLY=($(compgen -f -- "$now")); fi
}}
complete -F _quern quern
"""


def zsh_quoted(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh(root):
    functions = []
    for command in root.all():
        arguments = []
        for one in command.options:
            action = f"({' '.join(one.choices)})" if one.choices else "_files" if one.takes_file else " "
            value = f":{zsh_quoted(one.value.split(':')[0] or 'value')}:{action}" if one.value and not one.value.startswith("Needs:") else ""
            arguments += [f"'{name}[{zsh_quoted(one.text)}]{value}'" for name in one.names]
        function = "_quern" + "".join(f"_{word.replace('-', '_')}" for word in command.words)
        body = "    _arguments -C " + " \\\n        ".join(arguments)
        if command.subcommands:
            listed = " ".join(f"'{one.words[-1]}:{zsh_quoted(one.what)}'" for one in command.subcommands)
            cases = " ;;\n            ".join(f"{one.words[-1]}) {function}_{one.words[-1].replace('-', '_')}" for one in command.subcommands)
            body += f""" \\
        '1: :->command' '*:: :->rest'
    case $state in
        command) local -a commands=({listed}); _describe command commands ;;
        rest) case $words[1] in
            {cases} ;;
            esac ;;
    esac"""
        else:
            body += " \\\n        '*:argument:_files'"
        functions.append(f"{function}() {{\n    local state\n{body}\n}}")
    return "#compdef quern\n\n" + "\n\n".join(functions) + '\n\n_quern "$@"\n'


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(root):
    out = ["# fish completion for quern", "complete -c quern -f"]
    for command in root.all():
        seen = " ".join(command.words)
        others = " ".join(one.words[-1] for one in command.subcommands)
        here = " && ".join([f"__fish_seen_subcommand_from {word}" for word in command.words]
            + ([f"not __fish_seen_subcommand_from {others}"] if others else []))
        for one in command.subcommands:
            out.append(f"complete -c quern -n {fish_quoted(here)} -a {one.words[-1]} -d {fish_quoted(one.what)}")
        for one in command.options:
            long = next((name[2:] for name in one.names if name.startswith("--")), None)
            if long is None:
                continue
            line = f"complete -c quern -n {fish_quoted(here or 'true')} -l {long} -d {fish_quoted(one.text)}"
            if one.choices:
                line += f" -xa {fish_quoted(' '.join(one.choices))}"
            elif one.takes_file:
                line += " -rF"
            elif one.value and not one.value.startswith("Needs:"):
                line += " -x"
            out.append(line)
        del seen
    return "\n".join(out) + "\n"


def main():
    quern, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    version = subprocess.run([quern, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    root = Command(quern, [], "Consumes, relays and redrives Amazon SQS queues")
    shutil.rmtree(folder, ignore_errors=True) # pages of commands that are no more
    for name in ("man1", "bash", "zsh", "fish"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for command in root.all():
        page = man_page(command, version).encode()
        (folder / "man1" / f"{command.name}.1.gz").write_bytes(gzip.compress(page, mtime=0))
    (folder / "bash/quern").write_text(bash(root))
    (folder / "zsh/_quern").write_text(zsh(root))
    (folder / "fish/quern.fish").write_text(fish(root))


if __name__ == "__main__":
    main()
