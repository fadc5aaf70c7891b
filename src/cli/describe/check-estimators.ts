/** What `rfa check` is asked to check, and its progress. */
import {loadEstimators, unknownMethod} from '../../attention/names.js'
import type {CheckGroup} from '../../check/index.js'
import {RfaError} from '../../errors.js'
import {type LoadedPlugin, loadPlugin} from '../../plugins/load.js'
import {type Checked, checkedFacts} from '../../report/check.js'
import {printable} from '../../report/printable.js'
import type {Services} from '../program/services.js'
import {pluginsOfVariable} from '../run/plugins.js'

/** An estimator and where it comes from. */
interface Named {
  name: string
  /** Absolute path of its plug-in. */
  plugin: string | null
}

export interface ChecksAsked {
  groups: readonly CheckGroup[]
  seed: number
  /** `null`: as many as it takes. */
  draws: number | null
  seconds: number
}

/**
 * The estimators that words of a command line name: those of a plug-in's file, or one by its name, which may be that of one
 * of these files or of `RFA_PLUGINS`.
 *
 * @throws {UNKNOWN_NAME} for a word that is neither @throws what loading a plug-in throws
 */
export async function estimatorsNamed(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Named[]> {
  const files = new Map<string, LoadedPlugin>()
  // names of estimators have neither slashes nor dots
  for (const word of words) if (/[./\\]/.test(word)) files.set(word, await loadPlugin(word))
  const plugins = [...files.values(), ...(await pluginsOfVariable(env))]
  const origins = new Map(
    plugins.flatMap(({record}) => record.methods.map(name => [name, record.path])),
  )
  const estimators = await loadEstimators()
  const names = words.flatMap(word => {
    const file = files.get(word)
    if (file) return file.record.methods
    if (!Object.hasOwn(estimators, word)) throw neither(word)
    return [word]
  })
  return [...new Set(names)].map(name => ({name, plugin: origins.get(name) ?? null}))
}

function neither(word: string): RfaError {
  const {code, message, suggestions} = unknownMethod('check', word)
  const file = `or name a file: ./${word}.js`
  return new RfaError(code, message, {suggestions: [...suggestions, file]})
}

/** Makes the checks of each estimator. @param show - called with the progress */
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
    all.push(
      checkedFacts(
        name,
        plugin,
        await checkEstimator({...asked, draws: asked.draws ?? undefined, method: name, onCheck}),
      ),
    )
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
