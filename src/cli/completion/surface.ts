/** What there is to complete: commands, their flags, and what these take. */

/** What may stand where a value is typed. */
export interface Values {
  /** Names to choose from, `undefined` for a number or a text of the user's own. */
  names?: readonly string[]
  /** Whether several are joined by commas. */
  list: boolean
  /** Whether files or folders are meant. */
  paths?: 'files' | 'folders'
}

export interface CompletedFlag {
  name: string
  char?: string
  about: string
  /** May be typed again. */
  repeated: boolean
  /** `undefined` for a switch. */
  values?: Values
}

/** A command with what may be typed behind it. */
export interface CompletedCommand {
  id: string
  about: string
  flags: readonly CompletedFlag[]
  /** What stands without a flag, if anything. */
  argument?: Values
}

/** A flag or an argument as commands define it, as far as it matters here. */
interface Definition {
  type?: string
  char?: string
  description?: string
  helpValue?: string | string[]
  multiple?: boolean
  delimiter?: string
  allowNo?: boolean
  default?: unknown
  hidden?: boolean
  /** Set by flags that take names of a registry (flags.ts). */
  choices?: readonly string[] | (() => readonly string[])
  options?: readonly string[]
}

export interface CommandClass {
  summary?: string
  baseFlags?: Readonly<Record<string, unknown>>
  flags?: Readonly<Record<string, unknown>>
  args?: Readonly<Record<string, unknown>>
}

/** A command with its flags in the order of its help. */
export function surfaceOf(id: string, command: CommandClass): CompletedCommand {
  const flags = Object.entries({...command.flags, ...command.baseFlags})
  const [argument] = Object.entries(command.args ?? {})
  return {
    id,
    about: command.summary ?? id,
    flags: [
      ...flags.flatMap(([name, flag]) => flagsOf(name, flag as Definition)),
      {name: 'help', char: 'h', about: 'how to use it', repeated: false},
    ],
    ...(argument && {argument: argumentValues(argument[0], argument[1] as Definition)}),
  }
}

function flagsOf(name: string, flag: Definition): CompletedFlag[] {
  const {type, char, description = name, multiple = false, allowNo, default: isOn = false} = flag
  const shared = {about: shortened(description), repeated: multiple}
  if (type === 'boolean') {
    const names = [...(isOn ? [] : [name]), ...(allowNo ? [`no-${name}`] : [])]
    return names.map(own => ({name: own, ...(char && {char}), ...shared}))
  }
  return [{name, ...(char && {char}), ...shared, values: valuesOf(flag)}]
}

function valuesOf({choices, options, helpValue, delimiter}: Definition): Values {
  const names = namesOf(choices) ?? options
  const list = delimiter !== undefined
  if (names) return {names, list}
  if (String(helpValue).startsWith('FILE')) return {list, paths: 'files'}
  return helpValue === 'DIR' ? {list, paths: 'folders'} : {list}
}

function namesOf(choices: Definition['choices']): readonly string[] | undefined {
  return typeof choices === 'function' ? choices() : choices
}

/** Arguments are names of a registry, or folders of runs. */
function argumentValues(name: string, {choices, options}: Definition): Values {
  const names = namesOf(choices) ?? options
  if (names) return {names, list: false}
  return name === 'run' ? {list: false, paths: 'folders'} : {list: false}
}

/** The first clause of a description, without what would end a word of a shell. */
function shortened(text: string): string {
  const [clause = ''] = text.split(/[:;(]|, (?=[a-z]+,)/)
  return clause
    .replaceAll(/[^\w ,./-]/g, '')
    .replace(/[ ,-]+$/, '')
    .trim()
}
