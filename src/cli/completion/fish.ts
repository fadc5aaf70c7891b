import type {CompletedCommand, CompletedFlag, Values} from './surface.js'

/** The script. @param bin - what the program is called */
export function fishCompletion(bin: string, commands: readonly CompletedCommand[]): string {
  return `# Completion of ${bin} for fish.
function __${bin}_list --description 'names behind those of a list that are typed already'
    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '')
    set -l head (string replace -r -- '[^,]*$' '' "$typed")
    for name in $argv
        echo "$head$name"
    end
end
complete -c ${bin} -f
complete -c ${bin} -n __fish_use_subcommand -l version -d 'the version'
complete -c ${bin} -n __fish_use_subcommand -l help -s h -d 'how to use it'
${commands.map(({id, about}) => `complete -c ${bin} -n __fish_use_subcommand -a ${id} -d ${quoted(about)}`).join('\n')}
${commands.flatMap(command => commandLines(bin, command)).join('\n')}
`
}

function commandLines(bin: string, {id, flags, argument}: CompletedCommand): string[] {
  const within = `complete -c ${bin} -n '__fish_seen_subcommand_from ${id}'`
  const lines = flags.map(flag => `${within} ${flagPart(bin, flag)}`)
  return argument ? [...lines, `${within} ${valuePart(bin, argument)}`] : lines
}

function flagPart(bin: string, {name, char, about, values}: CompletedFlag): string {
  const forms = [`-l ${name}`, ...(char ? [`-s ${char}`] : []), `-d ${quoted(about)}`]
  return [...forms, ...(values ? [`-r ${valuePart(bin, values)}`] : [])].join(' ')
}

function valuePart(bin: string, {names, list, paths}: Values): string {
  if (names) return `-f -a '${list ? `(__${bin}_list ${names.join(' ')})` : names.join(' ')}'`
  if (paths === 'folders') return `-f -a '(__fish_complete_directories)'`
  return paths === 'files' ? '-F' : '-f'
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '')}'`
}
