/** The program behind bin/run.js: finds the command, and answers for what no command could. */
import {readdirSync} from 'node:fs'
import {join} from 'node:path'
import {Config} from '@oclif/core/config'
import {ExitError} from '@oclif/core/errors'
import {flush} from '@oclif/core/flush'
import {handle} from '@oclif/core/handle'
import {run} from '@oclif/core/run'
import {settings} from '@oclif/core/settings'
import {closest, describe, expected, listedFor, type RfaError} from '../../errors.js'
import {packageRoot} from '../../package.js'
import {exitOfPlugins} from '../../plugins/import.js'
import {printableJson} from '../../report/printable.js'
import {dropAhead} from '../../runner/workers/prestarted-worker.js'
import {type ErrorReport, errorDocument, errorReport, formatErrorReport} from './error-report.js'
import {watchForExit, watchForNoEnd} from './never-settles.js'

/**
 * Runs one command and sets the exit code.
 *
 * @param argv - arguments after the program's name
 * @param entry - URL of the file in bin/ that was started
 */
export async function main(argv: readonly string[], entry: string): Promise<void> {
  settings.enableAutoTranspile = false // built code only, whatever NODE_ENV says
  const endExitWatch = watchForExit(() => tellOfExit(argv.includes('--json')))
  process.stdout.once('error', error => {
    endExitWatch()
    endWithoutOutput(error)
  })
  process.stderr.on('error', () => {}) // what cannot be said must not end what is computed
  const endWatch = watchForNoEnd(() => {
    endExitWatch()
    tellOfNoEnd()
  })
  try {
    await runCommandOf(withHelpFlag(argv), entry)
    await flush()
  } catch (error) {
    endExitWatch()
    if (error instanceof ExitError) return await handle(error)
    const missing = missingCommand(error)
    const refused = missing === undefined ? error : unknownCommand(missing)
    report(errorReport(refused), argv.includes('--json'))
  } finally {
    await dropAhead()
    endWatch()
    endExitWatch()
  }
}

function tellOfExit(json: boolean): void {
  const fault = exitOfPlugins()
  if (fault) report(errorReport(fault), json)
}

function tellOfNoEnd(): void {
  report(
    errorReport(
      new Error('the command stopped early: a promise never settled (please report this)'),
    ),
    false,
  )
}

/**
 * Finds the command and runs it. To words behind a command that takes none, as in `bench favor-pos`, the finder says
 * that there is no such command; the command itself knows better what they may have meant.
 */
async function runCommandOf(argv: string[], entry: string): Promise<void> {
  const [name = '', ...others] = argv
  try {
    await run(argv, entry)
  } catch (error) {
    if (missingCommand(error) === undefined || !commandNames().includes(name)) throw error
    if (others.some(word => word === '--help' || word === '-h')) await run([name, '--help'], entry)
    else await (await Config.load(entry)).runCommand(name, others)
  }
}

/**
 * A reader that has gone, as `head` does or a closed terminal, has seen enough: waiting for it to take
 * the rest would never end. That the rest is not written anywhere else is an error.
 */
function endWithoutOutput(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || error.code === 'EIO') process.exit()
  const remedy = 'print to somewhere else; of a run that was saved, rfa report prints the tables'
  report(
    errorReport(expected('NOT_WRITABLE', 'stdout', 'a place to print to', error.message, remedy)),
    false,
  )
  process.exit()
}

/** `rfa help bench` means `rfa bench --help`. */
function withHelpFlag(argv: readonly string[]): string[] {
  const [first, ...others] = argv
  return first === 'help' ? [...others, '--help'] : [...argv]
}

/** The words in "command NAME:NAME not found": all up to the first flag. */
function missingCommand(error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : ''
  return /^command (.*) not found\.?$/is.exec(message)?.[1]?.replaceAll(':', ' ')
}

/** Error of a command that is not there, telling which may have been meant. */
function unknownCommand(words: string): RfaError {
  const names = commandNames()
  const first = words.split(' ')[0] ?? ''
  if (words.startsWith('-')) {
    const flag = closest(first, ['--help', '--version'])
    const hints = flag ? [`did you mean rfa ${flag}?`] : []
    return expected('USAGE', 'rfa', 'a command first', words, ...hints, 'see rfa -h')
  }
  const guess = closest(first, names)
  return expected(
    'UNKNOWN_NAME',
    'rfa',
    `one of the commands ${listedFor(words, names, guess)}`,
    describe(words),
    ...(guess ? [`did you mean rfa ${guess}?`] : []),
    'see rfa -h',
  )
}

/** Prints an error outside of all commands, as text or as JSON. */
function report(error: ErrorReport, json: boolean): void {
  if (json) process.stdout.write(`${printableJson(errorDocument(error))}\n`)
  else process.stderr.write(`${formatErrorReport(error)}\n`)
  process.exitCode = error.exit
}

/** The commands there are: one built file each. */
function commandNames(): string[] {
  return readdirSync(join(packageRoot(), 'dist', 'commands'))
    .filter(file => file.endsWith('.js'))
    .map(file => file.slice(0, -'.js'.length))
    .sort()
}
