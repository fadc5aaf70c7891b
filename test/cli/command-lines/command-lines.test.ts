/** The kinds of command lines that a new user types: each is answered in words, and none by a fault of the program. */
import {beforeAll, beforeEach, describe, expect, it, vi} from 'vitest'
import {services} from '../../../src/cli/program/services.js'
import {loadCommand} from '../../helpers/commands.js'
import {temporaryFolder} from '../../helpers/folders.js'
import {timed} from '../../helpers/records/bench.js'
import {answerWith, run, runner} from '../services.js'
import * as files from './files.js'
import * as flags from './flags.js'
import type {Row} from './rows.js'
import * as values from './values.js'

/** What no answer may show: faults, values that are none, and the words of the library that checks plans. */
const NEVER =
  /INTERNAL|\bundefined\b|\[object|\bNaN,| {4}at |Cannot read|is not a function|Invalid (input|option)|Too (small|big)|received|ZodError|Unrecognized|plan\.\w+:/

const TABLE: Record<string, readonly Row[]> = {
  'a flag that does not exist': flags.MISTYPED_FLAGS,
  'the opposite of a flag': flags.OPPOSITES,
  'a switch with a value': flags.SWITCHES,
  'a stray word': flags.STRAY_WORDS,
  'a value that is missing or empty': flags.MISSING_VALUES,
  'a number': values.NUMBERS,
  'a range': values.RANGES,
  'a name': values.NAMES,
  'an option of an estimator': values.OPTIONS,
  'a file': files.INPUT_FILES,
  'the folder of a run': files.RUN_FOLDERS,
  'flags together': files.CONTRADICTIONS,
  'what there is to be shown': files.HARMLESS,
}

const folder = temporaryFolder()

/** The words of a row's line. */
function wordsOf(line: Row[0]): string[] {
  const words = typeof line === 'string' ? line.split(' ') : line
  return words.map(word => (word === "''" ? '' : word.replaceAll('DIR', folder)))
}

beforeAll(() => files.writeFiles(folder))
beforeEach(() => {
  vi.clearAllMocks()
  answerWith(timed())
  runner.applyEstimator.mockImplementation(services.applyEstimator)
  runner.openRun.mockImplementation(services.openRun)
  runner.readPlan.mockImplementation(services.readPlan)
})

describe.each(Object.entries(TABLE))('%s', (_, rows) => {
  it.each(rows.map(row => ({row, line: row[0]})))('rfa $line', async ({row}) => {
    const [line, exit, shows, hides] = row
    const [id = '', ...argv] = wordsOf(line)
    const {stdout, stderr, exitCode} = await run(await loadCommand(id), id, argv)
    const output = stdout + stderr
    expect.soft(exitCode, output).toBe(exit)
    expect.soft(output).toMatch(shows)
    expect.soft(output).not.toMatch(NEVER)
    if (hides) expect.soft(output).not.toMatch(hides)
    if (exit === 0 || argv.includes('--json')) return
    expect.soft(stdout).toBe('')
    expect.soft(stderr).toMatch(/^\S.*\nCode: [A-Z_]+( {3}Try: \S.*\n( {8,}\S.*\n)*|\n)$/)
  })
})

it('is a table of the length that it should have', () => {
  expect(Object.values(TABLE).flat().length).toBeGreaterThanOrEqual(249)
})
