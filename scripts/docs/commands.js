// Pages of the commands and their flags, from what the build made of them.
import {readFileSync} from 'node:fs'
import {BRIEF_FLAGS} from '../../dist/src/cli/help/brief-flags.js'
import {COMMAND_GROUPS} from '../../dist/src/cli/program/command-groups.js'

/** The flags that all commands have: they come last. */
const GLOBAL = 'GLOBAL'

/** The commands in the order of `rfa -h`. */
const IDS = COMMAND_GROUPS.flatMap(({commands}) => commands.map(([id]) => id))

function manifest() {
  const file = new URL('../../oclif.manifest.json', import.meta.url)
  const {commands} = JSON.parse(readFileSync(file, 'utf8'))
  return IDS.map(id => commands[id])
}

/** Places in the sidebar: path without `.md`, title. */
export function commandPages() {
  return [
    ['reference/commands/index', 'All commands and flags'],
    ...IDS.map(id => [`reference/commands/${id}`, `rfa ${id}`]),
  ]
}

/**
 * The pages by their paths.
 *
 * @param markdown - what escapes text
 */
export function commandReference(markdown) {
  const commands = manifest()
  const each = commands.map(command => [`commands/${command.id}`, commandPage(command, markdown)])
  return {'commands/index': indexPage(commands, markdown), ...Object.fromEntries(each)}
}

function indexPage(commands, markdown) {
  const rows = COMMAND_GROUPS.flatMap(({title, commands: own}) =>
    own.map(([id, question]) => `| ${title} | [rfa ${id}](${id}.md) | ${markdown(question)} |`),
  )
  const [{description}] = commands
  const codes = exitCodes(description).map(([code, text]) => `| ${code} | ${markdown(text)} |`)
  return [
    '# Commands and flags',
    'Written from the commands themselves; `rfa COMMAND --help` prints the same.',
    table(['to', 'command', 'question'], rows),
    '## Every flag',
    table(['flag', 'commands'], flagRows(commands)),
    '## Exit codes',
    table(['code', 'meaning'], codes),
  ].join('\n\n')
}

/** Each flag with the commands that have it. */
function flagRows(commands) {
  const owners = new Map()
  for (const {id, flags} of commands) {
    for (const {name} of Object.values(flags)) owners.set(name, [...(owners.get(name) ?? []), id])
  }
  return [...owners]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, ids]) => {
      const links = ids.map(id => `[${id}](${id}.md#${name})`)
      return `| \`--${name}\` | ${links.join(', ')} |`
    })
}

function commandPage({id, summary, description = '', examples = [], args, flags, usage}, markdown) {
  const [prose] = description.split(/\n*Exit codes:\n/)
  const own = Object.values(flags)
  const groups = [...new Set(own.map(({helpGroup}) => helpGroup))]
  const order = [...groups.filter(group => group !== GLOBAL), GLOBAL]
  return [
    `# rfa ${id}`,
    `${markdown(summary)}.`,
    markdown(prose),
    shell(usage ? [usage].flat() : []),
    '## Examples',
    shell(examples.map(example => example.replace('<%= config.bin %> ', ''))),
    ...argumentParts(Object.values(args), markdown),
    ...mostUsed(id, markdown),
    ...order.flatMap(group => [
      `## ${group ? `${group[0]}${group.slice(1).toLowerCase()} flags` : 'Flags'}`,
      ...own
        .filter(({helpGroup}) => helpGroup === group)
        .flatMap(flag => flagParts(flag, markdown)),
    ]),
    `Exit codes are those of [all commands](index.md#exit-codes).`,
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

/** What `-h` shows. */
function mostUsed(id, markdown) {
  const rows = Object.entries(BRIEF_FLAGS[id] ?? {}).map(
    ([name, text]) => `| [\`--${name}\`](#${name}) | ${markdown(text)} |`,
  )
  return rows.length > 0 ? ['## Most used', table(['flag', 'meaning'], rows)] : []
}

function argumentParts(args, markdown) {
  if (args.length === 0) return []
  const rows = args.map(({name, description, required, multiple}) => {
    const shown = `${name.toUpperCase()}${multiple ? '...' : ''}`
    return `| \`${required ? shown : `[${shown}]`}\` | ${markdown(description)} |`
  })
  return ['## Arguments', table(['argument', 'meaning'], rows)]
}

/** A heading of its own, by which the search finds it, and its text. */
function flagParts(
  {type, name, char, allowNo, helpValue, description, options = [], exclusive = []},
  markdown,
) {
  const value = helpValue ?? name.replace(/.*-/, '').toUpperCase()
  const long = `--${allowNo ? '[no-]' : ''}${name}${type === 'option' ? ` ${value}` : ''}`
  const notes = [
    description,
    ...(options.length > 0 ? [`One of ${options.join(', ')}.`] : []),
    ...(exclusive.length > 0
      ? [`Not with ${exclusive.map(other => `--${other}`).join(', ')}.`]
      : []),
  ]
  return [
    `### \`${char ? `-${char}, ` : ''}${long}\` {#${name}}`,
    notes.map(note => markdown(note)).join('\n\n'),
  ]
}

function exitCodes(description) {
  const [, codes = ''] = description.split('Exit codes:\n')
  return codes.split('\n').map(line => line.match(/^(\d+) +(.*)$/).slice(1))
}

function shell(lines) {
  return lines.length === 0 ? '' : ['```sh', ...lines.map(line => `rfa ${line}`), '```'].join('\n')
}

function table(titles, rows) {
  return [`| ${titles.join(' | ')} |`, `|${titles.map(() => '---').join('|')}|`, ...rows].join('\n')
}
