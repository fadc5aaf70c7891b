/** Turns anything thrown into the one report that the terminal, `--json` and the exit code share. */
import {stripVTControlCharacters} from 'node:util'
import {
  bounded,
  clipped,
  closest,
  describe,
  expected,
  listedFor,
  messageOf,
  RfaError,
} from '../../errors.js'
import {errorCode} from '../../files.js'
import {printable} from '../../report/printable.js'
import {settingName} from '../../results/setting-name.js'
import {EXIT_INTERNAL, exitCodeOf} from './exit-codes.js'
import {withTypedCommands} from './typed.js'
import {adviceOnStray, adviceOnUnknownFlag, type Typed} from './usage-advice.js'

/** An error as `--json` prints it; json-documents.ts describes its fields. */
export interface ErrorReport {
  /** A code of errors.ts, or `INTERNAL` for a fault of rfa itself. */
  code: string
  message: string
  exit: number
  suggestions: readonly string[]
}

/** The document that `--json` prints in place of a result. */
export function errorDocument(error: ErrorReport) {
  return {schema: 'rfa.error/1', error} as const
}

/** What the parser of command lines throws, as far as it is used here. */
interface ParseError extends Error {
  /** Flags that do not exist. */
  flags?: readonly string[]
  /** Arguments that are too many, as typed, or those that are missing. */
  args?: readonly (string | MissingArgument)[]
  oclif?: {exit?: number}
  parse?: unknown
}

interface MissingArgument {
  name: string
  description?: string
  /** The only words that it may be. */
  options?: readonly string[]
}

/** A limit of the system, whoever met it: loaders and workers pass on its words without its code. */
function isFileLimit(error: unknown): boolean {
  return /^E[MN]FILE$/.test(errorCode(error) ?? '') || /\bE[MN]FILE: /.test(messageOf(error))
}

function tooManyFiles(cause: unknown): RfaError {
  const got = clipped(messageOf(cause))
  return expected('TOO_LARGE', 'open files', 'fewer than the limit of the system', got, MORE_FILES)
}

const MORE_FILES = 'raise the limit: ulimit -n 1024'

const NOTHING_TYPED: Typed = {argv: [], flags: {}}

/**
 * @param thrown - anything
 * @param typed - the command line, and the flags of its command by their names without dashes
 */
export function errorReport(thrown: unknown, typed = NOTHING_TYPED): ErrorReport {
  const error = isFileLimit(thrown) ? tooManyFiles(thrown) : thrown
  const flagNames = Object.keys(typed.flags)
  if (error instanceof RfaError) {
    const {code, suggestions} = error
    const told = (text: string) => asFlags(withoutParserFrame(text), flagNames)
    return {
      code,
      message: told(bounded(error.message)),
      exit: exitCodeOf(code),
      suggestions: suggestions.map(told),
    }
  }
  if (isParseError(error)) return usageReport(error, typed)
  return {
    code: 'INTERNAL',
    message: messageOf(error),
    exit: EXIT_INTERNAL,
    suggestions: ['run again with DEBUG=rfa* for a stack trace, and report it'],
  }
}

/** The report as lines for a terminal: the sentence, then the code with what to try. */
export function formatErrorReport(report: ErrorReport): string {
  const {code} = report
  const shown = (text: string) => printable(withTypedCommands(text, process.env))
  const message = shown(report.message)
  const head = `Code: ${code}`
  const [first, ...others] = report.suggestions.map(shown)
  if (first === undefined) return `${message}\n${head}`
  const indent = ' '.repeat(head.length + '   Try: '.length)
  return [message, `${head}   Try: ${first}`, ...others.map(line => indent + line)].join('\n')
}

/**
 * The settings of a text as flags: `` `seqLen` `` as `--seq-len`, `` `noCausal` `` as `--no-causal`, `` `preset: exact` `` as
 * `--preset exact`.
 *
 * @param flagNames - flags of the command, without dashes; others stay as they are
 */
export function asFlags(text: string, flagNames: readonly string[]): string {
  if (!text.includes('`')) return text // tables have many texts
  const all = flagNames.flatMap(flag => [flag, `no-${flag}`])
  const flags = new Map(all.map(flag => [settingName(flag), `--${flag}`]))
  return text.replaceAll(/`(\w+)(?:: ([^`]+))?`/g, (quoted, name: string, value?: string) => {
    const flag = flags.get(name)
    if (flag === undefined) return quoted
    return value === undefined ? flag : `${flag} ${value}`
  })
}

/** The parser puts "Parsing --flag" before and "See more help" after the sentence of a flag. */
function withoutParserFrame(message: string): string {
  return /^Parsing --\S+ \n\t([\s\S]*)\nSee more help with --help$/.exec(message)?.[1] ?? message
}

/** Whatever the parser throws carries its own exit code under this name. */
function isParseError(error: unknown): error is ParseError {
  return error instanceof Error && 'oclif' in error
}

/** A mistake in the command line, with what may have been meant. */
function usageReport(error: ParseError, typed: Typed): ErrorReport {
  const words = (error.args ?? []).filter(word => typeof word === 'string')
  const advice = [
    ...(error.flags ?? []).flatMap(flag => adviceOnUnknownFlag(flag, typed.flags)),
    ...words.slice(0, 1).flatMap(word => adviceOnStray(word, typed)),
  ]
  const message = plainText(error.message)
  const choice = choiceReport(message)
  return {
    code: 'USAGE',
    message:
      missingArgument(error) ?? strayArguments(words) ?? choice?.message ?? inOurWords(message),
    exit: exitCodeOf('USAGE'),
    suggestions: [...advice, ...(choice?.advice ?? []), 'see --help'],
  }
}

/** The sentence for arguments that were not given. */
function missingArgument({args = []}: ParseError): string | undefined {
  const missing = args.filter(arg => typeof arg === 'object')
  if (missing.length === 0) return undefined
  return missing
    .map(({name, description, options = []}) => {
      const choices = options.length > 0 ? `one of ${options.join(', ')}` : undefined
      return `${name.toUpperCase()}: expected ${choices ?? description ?? 'a word'}, got nothing`
    })
    .join('; ')
}

/** What to say of a word that is none of those that a flag or an argument may be. */
function choiceReport(message: string): {message: string; advice: string[]} | undefined {
  const match = /^Expected (?:(--[\w-]+)=)?(.*) to be one of: (.+)$/.exec(message)
  if (!match) return undefined
  const [, flag, typed = '', choices = ''] = match
  const names = choices.split(', ')
  const guess = closest(typed, names)
  return {
    message: `${flag ? `${flag}: ` : ''}expected one of ${listedFor(typed, names)}, got ${describe(typed)}`,
    advice: guess === undefined ? [] : [`did you mean ${guess}?`],
  }
}

/** The sentence for words that are too many. */
function strayArguments(words: readonly string[]): string | undefined {
  if (words.length === 0) return undefined
  const shown = words.map(word => (word.trim() === '' ? describe(word) : word)).join(', ')
  return `Unexpected argument${words.length > 1 ? 's' : ''}: ${shown}`
}

/** What the parser says of several flags at once, without its heading. */
function inOurWords(message: string): string {
  return message
    .replace(/^The following errors? occurred: /, '')
    .replaceAll(/(\S) Missing required flag (?=\w)/g, '$1, --')
    .replace(/^Missing required flag (?=\w)/, 'Missing required --')
    .replaceAll(
      /(--[\w-]+)=\S* cannot also be provided when using (--[\w-]+)/g,
      '$1 and $2 cannot be given together',
    )
}

/** On one line, without colours and without the parser's own pointer to help. */
function plainText(message: string): string {
  const text = stripVTControlCharacters(message).replace(/\nSee more help with --help/, '')
  return text.replaceAll(/\s+/g, ' ').trim()
}
