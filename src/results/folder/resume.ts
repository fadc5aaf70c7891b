/** Whether a run can continue with a plan: it can if the plan has all of its cells. */
import {expected, type RfaError} from '../../errors.js'
import {canonicalJson} from '../keys.js'
import type {Plan, StoredExperiment} from '../record.js'
import {settingName} from '../setting-name.js'
import {flagOf} from '../settings.js'

const NEW_RUN = 'choose another `output` to start a new run'
const OWN_PLAN = 'to continue its own plan, give only `output` and `resume`'
const ONLY_MORE = 'a run can be extended, but not cut: keep its values and add others'

export interface PlanCells {
  /** Their keys, in the order of the plan. */
  keysOf(plan: Plan): Promise<string[]>
  /** What progress calls some of them; their keys where that cannot be found out. */
  labelsOf(plan: Plan, keys: readonly string[]): Promise<string[]>
}

/** The plan to continue, and where. */
interface Extension extends PlanCells {
  directory: string
  plan: Plan
  /** That of the plan among them. */
  experiments: readonly StoredExperiment[]
}

/**
 * Compares the plan of a run with the one asked for.
 *
 * @returns the number of cells of the run, where the plan asked for has more; `undefined` where it has the same
 * @throws {PLAN_MISMATCH} where it loses any, naming the first of them and what differs
 */
export async function extensionOf(
  {directory, plan, experiments, keysOf, labelsOf}: Extension,
  saved: Plan,
): Promise<number | undefined> {
  const changes = differences(saved, plan)
  if (changes.length === 0) return undefined
  if (plan.experiment !== saved.experiment) {
    throw mismatch(directory, 'experiment', saved.experiment, plan.experiment)
  }
  const keys = await keysOf(saved)
  const asked = new Set(await keysOf(plan))
  const lost = keys.filter(key => !asked.has(key))
  if (lost.length === 0) return asked.size > keys.length ? keys.length : undefined
  const [first] = await labelsOf(saved, lost.slice(0, 1))
  const what = `a plan with all ${keys.length} cells of this run, ${first} among them`
  const got = `one that lacks ${lost.length} of them: ${changesText(changes, ownerOf(plan, experiments))}`
  throw expected('PLAN_MISMATCH', directory, what, got, ONLY_MORE, OWN_PLAN, NEW_RUN)
}

/** Error of a run that was started with something else. */
export function mismatch(
  directory: string,
  what: string,
  saved: string,
  asked: string,
  ...remedies: string[]
): RfaError {
  const wanted = `the ${what} that this run was started with, ${saved}`
  return expected('PLAN_MISMATCH', directory, wanted, asked, ...remedies, NEW_RUN)
}

/** A field that two pieces of data do not have alike. */
export interface Change {
  /** Its names from the outside in, e.g. `timing.min_runs`. */
  field: string
  /** As JSON, cut where it is long; `none` where it is absent. */
  before: string
  now: string
}

/** The fields in which two plans, or two cells, differ. Lists count as one field. */
export function differences(before: object, now: object): Change[] {
  const [old, own] = [new Map(fieldsOf(before)), new Map(fieldsOf(now))]
  const names = [...new Set([...old.keys(), ...own.keys()])]
  return names
    .filter(field => old.get(field) !== own.get(field))
    .map(field => ({field, ...shown(old.get(field), own.get(field))}))
}

/** Characters of a value that a message shows, and those of them before the first that differs. */
const [SHOWN, ALIKE] = [40, 10]

/** Two values, long ones about the place where they differ. */
function shown(before = 'none', now = 'none'): {before: string; now: string} {
  const differ = [...before].findIndex((letter, at) => letter !== now[at])
  const start = Math.max(0, (differ < 0 ? before.length : differ) - ALIKE)
  const cut = (text: string) => {
    if (text.length <= SHOWN) return text
    const end = start + SHOWN
    return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`
  }
  return {before: cut(before), now: cut(now)}
}

function* fieldsOf(value: object, within = ''): Generator<[string, string]> {
  for (const [name, child] of Object.entries(value)) {
    const field = `${within}${name}`
    const isGroup = typeof child === 'object' && child !== null && !Array.isArray(child)
    if (isGroup) yield* fieldsOf(child, `${field}.`)
    else if (child !== undefined) yield [field, canonicalJson(child)]
  }
}

/** Changes that a message names, and fields that it names first: who changed one of them did not mean this run. */
const [MOST_NAMED, FIRST] = [4, /^(seed|input)\b/]

/** `` `seed` is 9, not 3 ``; nested fields stand as in the plan: their flags have other units. */
export function changesText(
  changes: readonly Change[],
  {plan}: Pick<StoredExperiment, 'plan'>,
): string {
  const named = (field: string) =>
    field.includes('.') ? field : settingName(flagOf(plan, [field]))
  const isFirst = ({field}: Change) => Number(FIRST.test(field))
  const texts = changes
    .toSorted((a, b) => isFirst(b) - isFirst(a))
    .slice(0, MOST_NAMED)
    .map(({field, before, now}) => `\`${named(field)}\` is ${now}, not ${before}`)
  const rest = changes.length - texts.length
  return [...texts, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ')
}

export function ownerOf(plan: Plan, experiments: readonly StoredExperiment[]): StoredExperiment {
  return experiments.find(({name}) => name === plan.experiment)!
}
