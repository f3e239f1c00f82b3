"""Completion of words in bash, zsh and fish: the values, and the script of each shell.

Click asks a type for its values, and `bentpipe.cli` gives each type a name of `VALUES`. The scripts
differ from Click's in two points: no space follows a value that goes on (`link.`, `rate=`), and
words with `=` and `:` are completed in bash, which splits them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import shell_completion
from click.shell_completion import CompletionItem

from bentpipe import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import click

    Completer = Callable[[click.Context, str], Iterator[CompletionItem[str]]]

VARIABLE = "_BENTPIPE_COMPLETE"

BASH = """\
_bentpipe_completion() {
    local IFS=$'\\n' line
    COMPREPLY=()
    for line in $(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \\
        %(complete_var)s=bash_complete "$1"); do
        case $line in
            dir,*) compopt -o dirnames ;;
            file,*) compopt -o default ;;
            plain,*) COMPREPLY+=("${line#plain,}") ;;
        esac
    done
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[.=:,] ]]; then
        compopt -o nospace
    fi
}
complete -o nosort -F _bentpipe_completion %(prog_name)s
"""
ZSH = """\
#compdef %(prog_name)s
_bentpipe_completion() {
    local kind key text
    local -a whole whole_shown open open_shown response
    (( $+commands[%(prog_name)s] )) || return 1
    response=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \\
        %(complete_var)s=zsh_complete %(prog_name)s)}")
    for kind key text in "${response[@]}"; do
        case $kind in
            dir) _path_files -/ ;;
            file) _path_files -f ;;
            plain)
                [[ $text == _ ]] && text=$key || text="$key  -- $text"
                if [[ $key == *[.=:,] ]]; then
                    open+=("$key"); open_shown+=("$text")
                else
                    whole+=("$key"); whole_shown+=("$text")
                fi ;;
        esac
    done
    (( $#whole )) && compadd -U -l -V values -d whole_shown -a whole
    (( $#open )) && compadd -U -l -V values -S '' -d open_shown -a open
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _bentpipe_completion "$@"
else
    compdef _bentpipe_completion %(prog_name)s
fi
"""
FISH = """\
function _bentpipe_completion
    for line in (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) \\
            COMP_CWORD=(commandline -t) %(prog_name)s)
        set -l parts (string split -m 1 , -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
            case plain
                echo $parts[2]
        end
    end
end
complete --no-files --command %(prog_name)s --arguments '(_bentpipe_completion)'
"""


class Bash(shell_completion.BashComplete):
    """Bash, with words put together again that it splits at `=` and `:`."""

    source_template = BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the word at it."""
        args, incomplete = super().get_completion_args()
        words: list[str] = []
        glue = False
        for word in [*args, incomplete]:
            separator = word in {"=", ":"}
            if words and (glue or separator):
                words[-1] += word
            else:
                words.append(word)
            glue = separator
        self.kept = len(words[-1]) - len("" if glue else incomplete)
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the part of the value that bash replaces."""
        if item.type != "plain":
            return super().format_completion(item)
        return f"plain,{item.value[self.kept :]}"


class Zsh(shell_completion.ZshComplete):
    """Zsh. Its script needs no escaped colons."""

    source_template = ZSH

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return three lines: kind, value, description."""
        return f"{item.type}\n{item.value}\n{first_line(item.help) or '_'}"


class Fish(shell_completion.FishComplete):
    """Fish, with values that have commas."""

    source_template = FISH


SHELLS = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def script(cli: click.Command, shell: str) -> str:
    """The script of a shell."""
    found = SHELLS[shell](cli, {}, "bentpipe", VARIABLE)
    return found.source_template % found.source_vars()


def answer(cli: click.Command, instruction: str) -> int:
    """Print what a shell asks for, and return the exit status. An error gives no values."""
    for completion in SHELLS.values():
        shell_completion.add_completion_class(completion)
    return shell_completion.shell_complete(cli, {}, "bentpipe", VARIABLE, instruction)


def first_line(text: str | None) -> str:
    """The first sentence of a description, on one line."""
    return " ".join((text or "").split()).partition(". ")[0]


def controller_values(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Controllers, their parameters after a colon, and Python files."""
    name, colon, rest = word.partition(":")
    entries = {entry.name: entry for entry in _native.controllers()}
    if not colon:
        for entry in entries.values():
            yield CompletionItem(entry.name, help=first_line(entry.summary))
        return
    if name not in entries:
        return
    given, comma, _ = rest.rpartition(":")
    start = f"{name}:{given}{comma}"
    for parameter in entries[name].parameters:
        yield CompletionItem(f"{start}{parameter.name}=", help=first_line(parameter.meaning))


def mechanism_values(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Names of mechanisms on the path."""
    for entry in _native.mechanisms():
        if entry.name.startswith(word):
            yield CompletionItem(entry.name, help=entry.kind)


def transport_values(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Names of transport protocols."""
    for entry in _native.transports():
        if entry.name.startswith(word):
            yield CompletionItem(entry.name, help=first_line(entry.summary))


def workload_values(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Names of workloads of comparisons."""
    from bentpipe.compare.workloads import WORKLOADS

    for workload in WORKLOADS:
        if workload.name.startswith(word):
            yield CompletionItem(workload.name, help=workload.title)


def host_values(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Names of profiles of hosts."""
    for entry in _native.hosts():
        if entry.name.startswith(word):
            yield CompletionItem(entry.name, help=entry.summary)


def mix_values(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Names of mixes."""
    for entry in _native.mixes():
        if entry.name.startswith(word):
            yield CompletionItem(entry.name, help=entry.summary)


def constellation_values(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Names of constellations."""
    for entry in _native.constellations():
        if entry.name.startswith(word):
            yield CompletionItem(entry.name, help=entry.summary)


def trace_formats(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Forms of files of `bentpipe trace`."""
    from bentpipe.traces.formats import FORMATS

    for entry in FORMATS:
        yield CompletionItem(entry.name, help=entry.about)


def several(values: Completer) -> Completer:
    """The last of several values with commas between them."""

    def complete(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
        start, comma, last = word.rpartition(",")
        chosen = set(start.split(","))
        for item in values(context, last):
            if item.value not in chosen:
                yield CompletionItem(f"{start}{comma}{item.value}", help=item.help)

    return complete


def kernel_controllers(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Controllers that the kernel can load."""
    for entry in _native.kernel_controllers():
        yield CompletionItem(entry.name)


def links(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Built-in links of `compare`."""
    from bentpipe.compare.links import presets

    for name in presets():
        yield CompletionItem(name)


def papers(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Papers that can be reproduced."""
    from bentpipe.reproductions.reproduction import names

    for name in names():
        yield CompletionItem(name)


def hosts(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Hosts of the scenario on the command line."""
    for name in dict.fromkeys(
        name for link in document(context).get("link", ()) for name in link.get("between", ())
    ):
        yield CompletionItem(name)


def overrides(context: click.Context, word: str) -> Iterator[CompletionItem[str]]:
    """Paths of the scenario language, entry by entry, and values after `=`."""
    path, equals, _ = word.partition("=")
    schema = json.loads(_native.schema())
    if equals:
        for value in choices(at_path(schema, path.split("."))):
            yield CompletionItem(f"{path}={value}")
        return
    *done, _ = path.split(".")
    start = "".join(f"{entry}." for entry in done)
    for node in variants(at_path(schema, done)):
        if "items" in node:
            written = at_entries(document(context), done)
            for number in [*map(str, range(max(len(written), 1))), "*"]:
                yield CompletionItem(f"{start}{number}.", help=entry_name(written, number))
        for name, child in node.get("properties", {}).items():
            yield from path_items(f"{start}{name}", child)


def path_items(path: str, node: Mapping[str, Any]) -> Iterator[CompletionItem[str]]:
    """A path that goes on, that takes a value, or both."""
    kinds = list(variants(node))
    about = first_line(node.get("description"))
    if any("items" in kind or "properties" in kind for kind in kinds):
        yield CompletionItem(f"{path}.", help=about)
    if not all("items" in kind or "properties" in kind for kind in kinds):
        yield CompletionItem(f"{path}=", help=about)


def variants(node: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """The alternatives of a part of the schema."""
    if node is None:
        return
    inner = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    if not inner:
        yield node
    for one in inner:
        yield from variants(one)


def at_path(node: Mapping[str, Any], path: list[str]) -> dict[str, Any] | None:
    """The part of the schema at a path: all alternatives that have it."""
    found: list[Mapping[str, Any]] = [node]
    for entry in path:
        below = []
        for one in (alternative for node in found for alternative in variants(node)):
            if "items" in one:
                below.append(one["items"])
            elif entry in one.get("properties", {}):
                below.append(one["properties"][entry])
        found = below
    return {"anyOf": found} if found else None


def choices(node: Mapping[str, Any] | None) -> list[str]:
    """Values that the schema lists, as words of the command line."""
    found = listed(node)
    words = [json.dumps(value) if isinstance(value, bool) else str(value) for value in found]
    return list(dict.fromkeys(words))


def listed(node: Mapping[str, Any] | None) -> list[Any]:
    """Values that the schema lists."""
    found: list[Any] = []
    for one in variants(node):
        if one.get("type") == "boolean":
            found += [True, False]
        found += one.get("enum", ())
        if "const" in one:
            found.append(one["const"])
    return found


def document(context: click.Context) -> dict[str, Any]:
    """The scenario file on the command line, or the built-in link; empty if there is none."""
    import tomllib

    # Where the value of an option is missing, Click leaves arguments among the rest.
    rest = (word for word in context.args if word.endswith(".toml"))
    file = context.params.get("file") or context.params.get("scenario") or next(rest, None)
    if file is None and context.params.get("link_name"):
        from bentpipe.compare.fade import shipped

        file = shipped(f"{context.params['link_name']}.toml")
    if file is None:
        return {}
    try:
        return tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def at_entries(found: Any, path: list[str]) -> list[Any]:
    """The list at a path of a document; empty if there is none."""
    for entry in path:
        if isinstance(found, dict):
            found = found.get(entry)
        elif isinstance(found, list):
            number = "0" if entry == "*" else entry
            found = found[int(number)] if number.isdigit() and int(number) < len(found) else None
    return found if isinstance(found, list) else []


def entry_name(written: list[Any], number: str) -> str:
    """The name of an entry of a list, or the ends of a link."""
    if number == "*":
        return "all of the list"
    entry = written[int(number)] if int(number) < len(written) else {}
    if not isinstance(entry, dict):
        return ""
    return str(entry.get("name") or "-".join(map(str, entry.get("between", ()))))


VALUES: dict[str, Completer] = {
    "controller": controller_values,
    "controllers": several(controller_values),
    "mechanism": mechanism_values,
    "mechanisms": several(mechanism_values),
    "kernel controller": kernel_controllers,
    "link": links,
    "paper": papers,
    "host": hosts,
    "override": overrides,
    "host profile": host_values,
    "mix": mix_values,
    "constellation": constellation_values,
    "trace format": trace_formats,
    "transport": transport_values,
    "transports": several(transport_values),
    "workloads": several(workload_values),
}


def values(kind: str, context: click.Context, word: str) -> list[CompletionItem[str]]:
    """The values of a kind that begin with a word; files where a controller is in one."""
    found = [item for item in VALUES[kind](context, word) if item.value.startswith(word)]
    if not found and kind == "controller" and ":" not in word:
        return [CompletionItem(word, type="file")]
    return found
