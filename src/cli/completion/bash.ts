/** Completion for bash, of version 3.2 on. */
import type {CompletedCommand, CompletedFlag, Values} from './surface.js'

/** The script. @param bin - what the program is called */
export function bashCompletion(bin: string, commands: readonly CompletedCommand[]): string {
  return `# Completion of ${bin} for bash.
# In COMP_WORDS, --flag=value stands as three words.
_${bin}_names() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_${bin}_list() {
  local head="\${cur%"\${cur##*,}"}"
  COMPREPLY=($(compgen -P "$head" -W "$1" -- "\${cur##*,}"))
  compopt -o nospace 2>/dev/null
}
_${bin}_none() { compopt +o default +o bashdefault 2>/dev/null; }
_${bin}_folders() { compopt -o dirnames 2>/dev/null; }
_${bin}() {
  COMPREPLY=()
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}"
  if [[ $cur == = ]]; then cur=''
  elif [[ $prev == = ]]; then prev="\${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  if ((COMP_CWORD == 1)); then
    _${bin}_names "${commands.map(({id}) => id).join(' ')} help --help --version"
    return
  fi
  case "\${COMP_WORDS[1]} $prev" in
${commands.flatMap(command => command.flags.flatMap(flag => flagCase(bin, command, flag))).join('\n')}
    *)
      case "\${COMP_WORDS[1]} $cur" in
${commands.map(command => wordCases(bin, command)).join('\n')}
        *) _${bin}_none ;;
      esac ;;
  esac
}
complete -o bashdefault -o default -F _${bin} ${bin}
`
}

/** What follows a flag that takes a value. */
function flagCase(bin: string, {id}: CompletedCommand, flag: CompletedFlag): string[] {
  if (!flag.values) return []
  const forms = spellings(flag).map(form => `"${id} ${form}"`)
  return [`    ${forms.join(' | ')}) ${action(bin, flag.values)} ;;`]
}

/** Flags where a dash was typed, else the argument of the command. */
function wordCases(bin: string, {id, flags, argument}: CompletedCommand): string {
  const words = flags.map(({name}) => `--${name}`).join(' ')
  const bare = argument ? action(bin, argument) : `_${bin}_names "${words}"`
  return [`        "${id} -"*) _${bin}_names "${words}" ;;`, `        "${id} "*) ${bare} ;;`].join(
    '\n',
  )
}

function action(bin: string, {names, list, paths}: Values): string {
  if (names) return `_${bin}_${list ? 'list' : 'names'} "${names.join(' ')}"`
  if (paths === 'folders') return `_${bin}_folders`
  return paths === 'files' ? ':' : `_${bin}_none`
}

function spellings({name, char}: CompletedFlag): string[] {
  return char ? [`--${name}`, `-${char}`] : [`--${name}`]
}
