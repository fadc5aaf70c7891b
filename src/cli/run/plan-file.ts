/** Plans in files: what `--dry-run --json` prints, or the plan alone. */
import {readFile} from 'node:fs/promises'
import {describe, expected} from '../../errors.js'
import {allExperiments, EXPERIMENT_NAMES} from '../../experiments/index.js'
import {errorCode} from '../../files.js'
import {parseJson, requireRegularFile, unreadable} from '../../results/files.js'
import {anyPlan} from '../../results/folder/manifest.js'
import {parseWith, schemaOf, unknownSchema} from '../../results/journal/parse-record.js'
import type {Plan} from '../../results/record.js'
import {DRY_RUN_SCHEMA} from '../../runner/schedule/dry-run.js'

const REMEDY = 'write one with rfa error-sweep, bench or variance --dry-run --json'

/**
 * Reads a plan from a file; its plug-ins are not touched.
 *
 * @param path - of what `--dry-run --json` prints, or of its `plan` alone
 * @throws {FILE_MISSING} when there is none
 * @throws {BAD_FILE} for anything but a plan, and for one with fields that this version does not know
 * @throws {UNKNOWN_SCHEMA} for a document of another kind or version
 */
export async function readPlanFile(path: string): Promise<Plan> {
  const value = planIn(path, parseJson(path, await textOf(path)))
  const {experiment} = (value ?? {}) as {experiment?: unknown}
  const known: readonly unknown[] = EXPERIMENT_NAMES
  if (!known.includes(experiment)) {
    const names = EXPERIMENT_NAMES.join(', ')
    const got = experiment === undefined ? 'no `experiment`' : describe(experiment)
    throw expected('BAD_FILE', path, `a plan of ${names}`, got, REMEDY)
  }
  const what = `a plan of ${experiment}`
  const plan = parseWith(anyPlan(await allExperiments()), value, path, what, REMEDY)
  const foreign = unknownField(value, plan)
  if (foreign !== undefined) {
    const remedy = 'it may be of a newer version of rfa: use that one'
    throw expected('BAD_FILE', path, 'a plan of fields known here', `\`${foreign}\``, remedy)
  }
  return plan
}

async function textOf(path: string): Promise<string> {
  await requireRegularFile(path)
  return readFile(path, 'utf8').catch(error => {
    if (errorCode(error) !== 'ENOENT') throw unreadable(path, error)
    throw expected('FILE_MISSING', path, 'a plan', 'nothing', REMEDY)
  })
}

/** The plan of a document, which may be the document itself. @throws {UNKNOWN_SCHEMA} */
function planIn(path: string, value: unknown): unknown {
  const schema = schemaOf(value)
  if (schema === undefined) return value
  if (schema !== DRY_RUN_SCHEMA) throw unknownSchema(path, schema, [DRY_RUN_SCHEMA])
  return (value as {plan?: unknown}).plan
}

/** The first field of a file that a schema has dropped: running without it would be running another plan. */
function unknownField(value: unknown, parsed: unknown, place = ''): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, child] of Object.entries(value)) {
    const inner = place === '' ? name : `${place}.${name}`
    const there = typeof parsed === 'object' && parsed !== null && Object.hasOwn(parsed, name)
    const fault = there
      ? unknownField(child, (parsed as Record<string, unknown>)[name], inner)
      : inner
    if (fault !== undefined) return fault
  }
  return undefined
}

/**
 * Whether the files of a plan still hold what they held when it was made.
 *
 * @param path - of the plan
 * @param asked - as it stands there
 * @param pinned - with what the files hold now
 * @throws {FILE_CHANGED}
 */
export function requireSameInput(path: string, asked: Plan, pinned: Plan): void {
  const [before, now] = [digestIn(asked), digestIn(pinned)]
  if (before === undefined || before === now) return
  const what = `input of SHA-256 ${before.slice(0, 12)}…`
  const remedy = 'put back the file that the plan was made with'
  const other = 'make the plan anew from this file'
  throw expected('FILE_CHANGED', path, what, `${now?.slice(0, 12) ?? 'none'}…`, remedy, other)
}

/** Of the files of all layers together. */
function digestIn({input, layer_files: layers}: Plan): string | undefined {
  const files = layers ?? (input?.kind === 'file' ? [input] : [])
  const digests = files.flatMap(({digest}) => digest ?? [])
  return digests.length > 0 ? digests.join() : undefined
}

/** @throws {USAGE} for threads that would make another plan of it */
export function refuseOtherThreads(path: string, plan: Plan, typed: number | undefined): void {
  if (plan.threads === undefined || typed === undefined || typed === plan.threads) return
  const what = 'a plan that says all of what is run'
  const remedies = ['leave --threads out', 'make another plan with --dry-run --json']
  throw expected('USAGE', path, what, '--threads with it', ...remedies)
}
