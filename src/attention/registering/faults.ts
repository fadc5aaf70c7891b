/** Errors of plug-in estimators, with the names of estimator and part and the author's line. */
import {sep} from 'node:path'
import {fileURLToPath} from 'node:url'
import {clipped, messageOf, RfaError} from '../../errors.js'
import {packageRoot} from '../../package.js'

/** Frames of a stack that are kept while an estimator runs: an operation of TensorFlow.js alone has a dozen. */
const FRAMES = 60

/** Errors that already name their part: a part of an estimator may call another one. */
const named = new WeakSet<object>()

/**
 * Runs a part of an estimator.
 *
 * @param where - estimator and part, e.g. `my-map: phi`
 * @throws {PLUGIN_FAILED} for anything thrown but an {@link RfaError}, which keeps its code and remedies. Both name
 * the part and the author's line, except for errors that begin with the name of the estimator.
 */
export function inPart<Result>(where: string, run: () => Result): Result {
  const {stackTraceLimit} = Error
  Error.stackTraceLimit = Math.max(stackTraceLimit ?? 0, FRAMES)
  try {
    return run()
  } catch (error) {
    throw faultOf(where, error)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** The error of a part, named once, by the innermost. */
function faultOf(where: string, error: unknown): unknown {
  if (typeof error === 'object' && error !== null && named.has(error)) return error
  if (error instanceof RfaError && error.message.startsWith(`${where.split(':')[0]}: `))
    return error
  const line = authorLine(error)
  const at = line === undefined ? '' : ` (${line})`
  const ours = error instanceof RfaError
  const said = clipped(messageOf(error))
  const kind = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : ''
  const fault = ours
    ? new RfaError(error.code, `${where}: ${error.message}${at}`, {
        suggestions: error.suggestions,
        cause: error,
      })
    : new RfaError('PLUGIN_FAILED', `${where} threw ${kind}${said}${at}`, {cause: error})
  named.add(fault)
  return fault
}

/**
 * The line of an author's file that led to an error, `path:line:column`: the innermost that is of no package and not of
 * this one.
 */
export function authorLine(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const root = packageRoot().replaceAll('\\', '/')
  for (const line of stack.split('\n')) {
    const frame = /(?:\(|at (?:async )?)((?:file:\/\/)?\/[^()]*)(:\d+:\d+)\)?$/.exec(line)
    if (!frame) continue
    const path = framePath(frame[1]!)
    const ours = ['src', 'dist', 'bin'].some(folder => path.startsWith(`${root}/${folder}/`))
    if (!ours && !path.includes('/node_modules/')) return `${path}${frame[2]}`
  }
  return undefined
}

/** The path of a file in a stack: modules have URLs, and not every URL is a path. */
function framePath(file: string): string {
  if (!file.startsWith('file://')) return file
  try {
    return fileURLToPath(file).split(sep).join('/')
  } catch {
    return file
  }
}
