/** Whether a run can go on with a plan, and what is told where it cannot. */
import {expected, type RfaError} from '../errors.js'
import {type Difference, firstDifference, planChange} from './plan-difference.js'
import {inputText, settingText} from './plan-settings.js'
import type {Plan} from './record.js'

const NEW_RUN = 'choose another `output` to start a new run'
const OWN_PLAN = 'to go on with its own plan, give `output` and `resume` alone'

/** The plan to go on with, and where. */
interface Extension {
  directory: string
  plan: Plan
  /** Keys of the cells of a plan. */
  keysOf(plan: Plan): Promise<string[]>
}

/**
 * Compares the plan of a run with the one asked for.
 *
 * @returns the number of cells of the run, where the plan asked for has more; `undefined` where it has the same
 * @throws {PLAN_MISMATCH} where it loses any
 */
export async function extensionOf(
  {directory, plan, keysOf}: Extension,
  saved: Plan,
): Promise<number | undefined> {
  const change = planChange(saved, plan)
  if (change.kind === 'same') return undefined
  if (change.kind === 'changed') {
    const [left, right] = sidesOf(change.difference, saved, plan)
    throw mismatch(directory, 'plan', left, right, OWN_PLAN)
  }
  if (change.kind === 'shortened') {
    const {list, gone, right} = change
    const missing = settingText([list], gone)
    throw expected(
      'PLAN_MISMATCH',
      directory,
      `a plan with all cells of this run, ${missing} among them`,
      settingText([list], right.length === 0 ? undefined : right),
      `name ${missing} beside the others: a run can be extended, but not cut`,
      OWN_PLAN,
      NEW_RUN,
    )
  }
  const keys = await keysOf(saved)
  const asked = new Set(await keysOf(plan))
  const lost = keys.filter(key => !asked.has(key)).length
  if (lost === 0) return asked.size > keys.length ? keys.length : undefined
  const [left, right] = sidesOf(firstDifference(saved, plan)!, saved, plan)
  throw expected(
    'PLAN_MISMATCH',
    directory,
    `a plan with all cells of this run, made with ${left}`,
    `${right}, with which ${lost} of its ${keys.length} cells are other ones`,
    OWN_PLAN,
    NEW_RUN,
  )
}

/** Both sides of a difference as settings; two kinds of input have no more in common than where they come from. */
function sidesOf({place, left, right}: Difference, saved: Plan, asked: Plan): [string, string] {
  if (place.join('.') === 'input.kind') return [inputText(saved.input), inputText(asked.input)]
  return [settingText(place, left), settingText(place, right)]
}

/** Error of a run that was started with something else. */
export function mismatch(
  directory: string,
  what: string,
  saved: string,
  asked: string,
  ...remedies: string[]
): RfaError {
  return expected(
    'PLAN_MISMATCH',
    directory,
    `the ${what} that this run was started with, ${saved}`,
    asked,
    ...remedies,
    NEW_RUN,
  )
}
