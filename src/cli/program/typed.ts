/** Commands in what is printed, as the user types them. */
import {COMMAND_GROUPS} from './command-groups.js'

const COMMANDS = COMMAND_GROUPS.flatMap(({commands}) => commands.map(([id]) => id)).concat('-h')

/** A command of the program within a text. */
const COMMAND = new RegExp(String.raw`(?<![\w./@-]|npx )rfa (?=(?:${COMMANDS.join('|')})\b)`, 'g')

/**
 * How the program was started: `npx rfa`, or by its name.
 *
 * @param env - where npm says that it was npx
 * @param name - of the program
 */
export function typedProgram(env: NodeJS.ProcessEnv, name = 'rfa'): string {
  return env.npm_command === 'exec' && env.npm_lifecycle_event === 'npx' ? `npx ${name}` : name
}

/** A text with commands that begin as the user began this one; records keep `rfa`. */
export function withTypedCommands(text: string, env: NodeJS.ProcessEnv): string {
  const program = typedProgram(env)
  return program === 'rfa' ? text : text.replaceAll(COMMAND, `${program} `)
}
