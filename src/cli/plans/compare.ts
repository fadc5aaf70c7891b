/** The flags of comparisons: what is compared, what fails, and where tables go. */
import {extname} from 'node:path'
import * as Flags from '@oclif/core/flags'
import {checkLimits, type Limit, parseLimit} from '../../compare/limits.js'
import {describe, expected} from '../../errors.js'
import {present, toggle} from '../flags/kinds.js'

const limitList = Flags.custom<Limit>({
  multiple: true,
  multipleNonGreedy: true,
  delimiter: ',',
  helpValue: 'time:10%,error:5%',
  parse: async (text, _context, {name}) => parseLimit(text, `--${name}`),
})

/** `--fail-on` and `--strict` of a command that compares. @param names - what is judged, by what, and their ratio */
const judging = ([b, a, ratio]: readonly [string, string, string], only: string) => ({
  'fail-on': limitList({
    description: `end with exit code 1 if ${b} exceeds ${a} by more than a limit beyond noise (the lower end of the 95 % interval of ${ratio} is above 1 + limit), with 5 if no line could be judged. Limits are of time (bench), memory (bench, as counted), error (error-sweep: rel L2) or variance (variance). A line with its limit inside the interval cannot be judged: a warning, where other lines could be`,
  }),
  strict: toggle(`also end with exit code 5 for lines that cannot be judged, and for ${only}`),
})

export const failOnFlags = judging(['B', 'A', 'B/A'], 'what only A has measured')

export const historyFailOnFlags = judging(
  ['the newest run', 'the run before', 'the ratio of both'],
  'what the newest run has not measured, and runs that cannot be read',
)

export interface FailOnFlags {
  'fail-on'?: readonly Limit[] | undefined
  strict: boolean
}

/** The limits. @throws {USAGE} where a quantity has two, and for `--strict` without any */
export function limitsOf({'fail-on': limits = [], strict}: FailOnFlags): readonly Limit[] {
  if (strict && limits.length === 0) {
    const remedy = 'say what is to fail: --fail-on time:10%'
    throw expected('USAGE', '--strict', '--fail-on with it', 'none', remedy)
  }
  return checkLimits(limits, '--fail-on')
}

/** Formats of files by their endings. */
const ENDINGS = new Map([
  ['.md', 'markdown'],
  ['.markdown', 'markdown'],
  ['.csv', 'csv'],
  ['.json', 'json'],
  ['.html', 'html'],
] as const)
type Ending = typeof ENDINGS extends Map<infer Key, unknown> ? Key : never

/** A file to write, or stdout, for Markdown. */
export interface ComparisonFile {
  path: string
  format: 'markdown' | 'csv' | 'json' | 'html'
}

/** `--output`: repeated for several files. */
export const outputFlag = Flags.custom<ComparisonFile>({
  multiple: true,
  multipleNonGreedy: true,
  helpValue: 'FILE',
  parse: async (text, _context, {name}) => {
    const path = present(text, `--${name}`)
    if (path === '-') return {path, format: 'markdown'}
    const format = ENDINGS.get(extname(path).toLowerCase() as Ending)
    if (format !== undefined) return {path, format}
    const what = 'a file ending in .md, .csv, .json or .html, or - for Markdown on stdout'
    throw expected('USAGE', `--${name}`, what, path)
  },
})({
  char: 'o',
  description:
    'file to write, by its ending Markdown (.md), a table (.csv), everything (.json) or a page with figures (.html), - for Markdown on stdout; may be repeated (default: none)',
})

/** `--methods` of a comparison, split. */
export const twoMethods = Flags.custom<readonly [string, string]>({
  helpValue: 'A,B',
  parse: async (text, _context, {name}) => {
    // labels have commas within parentheses
    const [a, b, ...more] = text.split(/,(?![^(]*\))/).map(part => part.trim())
    const where = `--${name}`
    if (!a || !b || more.length > 0) {
      throw expected('USAGE', where, 'two methods of the run, A,B', describe(text))
    }
    if (a === b) throw expected('USAGE', where, 'two different methods', `${a} twice`)
    return [a, b]
  },
})
