/** Completion for zsh: a file of its function path, or read by it. */
import type {CompletedCommand, CompletedFlag, Values} from './surface.js'

/** The script. @param bin - what the program is called */
export function zshCompletion(bin: string, commands: readonly CompletedCommand[]): string {
  return `#compdef ${bin}
# Completion of ${bin} for zsh.
_${bin}() {
  local context state state_descr line
  local -a commands
  typeset -A opt_args
  commands=(
${commands.map(({id, about}) => `    '${id}:${plain(about)}'`).join('\n')}
    'help:how to use a command'
  )
  _arguments -C '(- *)'{--help,-h}'[how to use it]' '(- *)--version[the version]' '1: :->command' '*:: :->rest' && return
  case $state in
    command) _describe command commands ;;
    rest)
      case $words[1] in
${commands.map(commandCase).join('\n')}
      esac ;;
  esac
}
if [ "$funcstack[1]" = _${bin} ]; then _${bin} "$@"; else compdef _${bin} ${bin}; fi
`
}

function commandCase({id, flags, argument}: CompletedCommand): string {
  const specs = flags.map(flagSpec)
  if (argument) specs.push(`'*: :${action(argument)}'`)
  return `        ${id})
          _arguments -s \\
${specs.map(spec => `            ${spec}`).join(' \\\n')} ;;`
}

function flagSpec({name, char, about, repeated, values}: CompletedFlag): string {
  // a value may stand behind = or as a separate word
  const [long, short] = values ? [`--${name}=`, `-${char}+`] : [`--${name}`, `-${char}`]
  const forms = char ? `{${long},${short}}` : long
  const others = repeated ? '*' : char ? `(--${name} -${char})` : ''
  const value = values ? `: :${action(values)}` : ''
  const told = `[${plain(about)}]${value}`
  return char ? `'${others}'${forms}'${told}'` : `'${others}${forms}${told}'`
}

function action({names, list, paths}: Values): string {
  if (names) return list ? `_values -s , name ${names.join(' ')}` : `(${names.join(' ')})`
  if (paths) return paths === 'folders' ? '_files -/' : '_files'
  return ' '
}

/** What ends a description or a quoted word. */
function plain(text: string): string {
  return text.replaceAll(/['[\]:\\]/g, '')
}
