/** Turns anything thrown into the one report that the terminal, `--json` and the exit code share. */
import {closest, messageOf, RfaError} from '../errors.js'
import {printable} from '../report/printable.js'
import {EXIT_INTERNAL, exitCodeOf} from './exit-codes.js'

/** An error as `--json` tells it; json-documents.ts describes its fields. */
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
  oclif?: {exit?: number}
  parse?: unknown
}

/**
 * @param error - anything thrown
 * @param flagNames - flags of the command, without dashes, for "did you mean"
 */
export function errorReport(error: unknown, flagNames: readonly string[] = []): ErrorReport {
  if (error instanceof RfaError) {
    const {code, suggestions} = error
    const told = (text: string) => asFlags(withoutParserFrame(text), flagNames)
    return {
      code,
      message: told(error.message),
      exit: exitCodeOf(code),
      suggestions: suggestions.map(told),
    }
  }
  if (isParseError(error)) return usageReport(error, flagNames)
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
  const message = printable(report.message)
  const head = `Code: ${code}`
  const [first, ...others] = report.suggestions.map(printable)
  if (first === undefined) return `${message}\n${head}`
  const indent = ' '.repeat(head.length + '   Try: '.length)
  return [message, `${head}   Try: ${first}`, ...others.map(line => indent + line)].join('\n')
}

/**
 * The settings of a text as flags: `` `seqLen` `` as `--seq-len`, `` `preset: exact` `` as `--preset exact`.
 *
 * @param flagNames - flags of the command, without dashes; others stay as they are
 */
export function asFlags(text: string, flagNames: readonly string[]): string {
  return text.replaceAll(
    /`([a-z][A-Za-z]*)(?:: ([^`]+))?`/g,
    (all, name: string, value?: string) => {
      const flag = name.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
      if (!flagNames.includes(flag)) return all
      return value === undefined ? `--${flag}` : `--${flag} ${value}`
    },
  )
}

/** The parser puts "Parsing --flag" before and "See more help" after the sentence of a flag. */
function withoutParserFrame(message: string): string {
  return /^Parsing --\S+ \n\t([\s\S]*)\nSee more help with --help$/.exec(message)?.[1] ?? message
}

/** Whatever the parser throws carries its own exit code under this name. */
function isParseError(error: unknown): error is ParseError {
  return error instanceof Error && 'oclif' in error
}

/** A mistake in the command line, with the flag that may have been meant. */
function usageReport(error: ParseError, flagNames: readonly string[]): ErrorReport {
  const suggestions = (error.flags ?? []).flatMap(flag => {
    const guess = closest(flag.replace(/^-+/, '').replace(/=.*/, ''), flagNames)
    return guess ? [`did you mean --${guess}?`] : []
  })
  return {
    code: 'USAGE',
    message: plainText(error.message),
    exit: exitCodeOf('USAGE'),
    suggestions: [...suggestions, 'see --help'],
  }
}

/** On one line, without colours and without the parser's own pointer to help. */
function plainText(message: string): string {
  return (
    message
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
      .replaceAll(/\u001b\[[0-9;]*m/g, '')
      .replace(/\nSee more help with --help/, '')
      .replaceAll(/\s+/g, ' ')
      .trim()
  )
}
