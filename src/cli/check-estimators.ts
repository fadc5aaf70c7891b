/** What `rfa check` is asked to check, and its progress. */
import {loadEstimators, unknownMethod} from '../attention/names.js'
import type {CheckGroup} from '../check/index.js'
import {RfaError} from '../errors.js'
import {loadPlugin} from '../plugins/load.js'
import {type Checked, checkedFacts} from '../report/check.js'
import {printable} from '../report/printable.js'
import type {Services} from './services.js'

/** An estimator and where it comes from. */
interface Named {
  name: string
  /** Absolute path of its plug-in. */
  plugin: string | null
}

/** How the checks are made. */
export interface ChecksAsked {
  groups: readonly CheckGroup[]
  seed: number
  draws: number
}

/**
 * The estimators that words of a command line name: those of a plug-in's file, or one by its name.
 *
 * @throws {UNKNOWN_NAME} for a word that is neither @throws what loading a plug-in throws
 */
export async function estimatorsNamed(words: readonly string[]): Promise<Named[]> {
  const estimators = await loadEstimators()
  const found = new Map<string, Named>()
  for (const word of words) {
    if (!isFile(word)) {
      if (!Object.hasOwn(estimators, word)) throw neither(word)
      if (!found.has(word)) found.set(word, {name: word, plugin: null})
      continue
    }
    const {record} = await loadPlugin(word)
    for (const name of record.methods) found.set(name, {name, plugin: record.path})
  }
  return [...found.values()]
}

/** Names of estimators have neither slashes nor dots. */
function isFile(word: string): boolean {
  return /[./\\]/.test(word)
}

function neither(word: string): RfaError {
  const {code, message, suggestions} = unknownMethod('check', word)
  const file = `or name a file: ./${word}.js`
  return new RfaError(code, message, {suggestions: [...suggestions, file]})
}

/** Makes the checks of each estimator. @param show - is told how far they are */
export async function checkAll(
  named: readonly Named[],
  asked: ChecksAsked,
  {checkEstimator}: Pick<Services, 'checkEstimator'>,
  show: (progress: string) => void,
): Promise<Checked[]> {
  const all: Checked[] = []
  for (const {name, plugin} of named) {
    const onCheck = (check: string, done: number, total: number) =>
      show(`${name}: ${done}/${total} checks, ${check}`)
    all.push(checkedFacts(name, plugin, await checkEstimator({...asked, method: name, onCheck})))
  }
  return all
}

/** Between two plain lines, in ms. */
const PLAIN_INTERVAL_MS = 10_000

/** Shows how far checks are: a spinner on a terminal, a line every ten seconds elsewhere. */
export async function showChecks(
  stream: NodeJS.WriteStream,
  quiet: boolean,
): Promise<{show(progress: string): void; stop(): void}> {
  if (quiet) return {show() {}, stop() {}}
  if (!stream.isTTY || !(stream.columns > 0)) {
    let last = performance.now()
    const show = (progress: string) => {
      if (performance.now() - last < PLAIN_INTERVAL_MS) return
      last = performance.now()
      stream.write(`${printable(progress)}\n`)
    }
    return {show, stop() {}}
  }
  const {default: ora} = await import('ora')
  const spinner = ora({stream, discardStdin: false, isEnabled: true, text: 'starting'}).start()
  return {
    show(progress) {
      spinner.text = printable(progress).slice(0, stream.columns - 3)
      spinner.render() // a check may take seconds in which no timer runs
    },
    stop: () => void spinner.stop(),
  }
}
