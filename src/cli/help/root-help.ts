/** The first screen: the commands in groups, by the questions that they answer. Nothing else is loaded for it. */
import {COMMAND_GROUPS} from '../program/command-groups.js'
import {typedProgram} from '../program/typed.js'

/** What of package.json the screen says. */
export interface RootHelpRequest {
  /** How the program was started. */
  bin: string
  version: string
  description?: string | undefined
}

/** The screen before its lines are broken. */
export interface RootHelp {
  title: string
  /** Group and command, and the question of the command. */
  rows: [string, string][]
  start: string
}

/** The parts of the screen. */
export function rootHelp({bin, version, description = ''}: RootHelpRequest): RootHelp {
  const width = (names: readonly string[]) => Math.max(...names.map(({length}) => length))
  const group = width(COMMAND_GROUPS.map(({title}) => title))
  const name = width(COMMAND_GROUPS.flatMap(({commands}) => commands.map(([id]) => id)))
  const rows = COMMAND_GROUPS.flatMap(({title, commands}) =>
    commands.map(([id, question], at): [string, string] => [
      `${(at === 0 ? title : '').padEnd(group)}  ${id.padEnd(name)}`,
      question,
    ]),
  )
  return {
    title: `rfa ${version}: ${description.toLowerCase()}`,
    rows,
    start: `start: ${bin} error-sweep --quick; flags: ${bin} COMMAND -h (all: --help)`,
  }
}

/** What asks for the screen, alone on a command line; nothing does, too. */
const ASKING = ['-h', '--help', 'help']

/**
 * The screen where a command line asks for it and no line has to be broken.
 *
 * @param argv - arguments after the program's name
 * @param most - characters of a line
 */
export function rootHelpScreen(
  argv: readonly string[],
  most: number,
  {version, description}: Omit<RootHelpRequest, 'bin'>,
): string | undefined {
  const [asking = '-h', ...others] = argv
  if (others.length > 0 || !ASKING.includes(asking)) return undefined
  const {title, rows, start} = rootHelp({bin: typedProgram(process.env), version, description})
  const lines = [title, ...rows.map(row => row.join('  ')), start]
  return lines.some(({length}) => length > most) ? undefined : lines.join('\n')
}
