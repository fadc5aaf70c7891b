/** Checks of one estimator: what the suites hold those of the registry to, for an author's own. */

import {estimatorNamed} from '../attention/names.js'
import {useBackend} from '../backends/index.js'
import {messageOf, RfaError} from '../errors.js'
import {BACKEND_CHECKS, JUDGE} from './checks/backends.js'
import {VIEW_CHECKS} from './checks/causality.js'
import {DRAW_CHECKS} from './checks/draws.js'
import {EXACTNESS} from './checks/exactness.js'
import {EXPLICIT} from './checks/explicit.js'
import {FACTS} from './checks/facts.js'
import {GRADIENTS} from './checks/gradients.js'
import {LAWS} from './checks/laws.js'
import {NUMERICS} from './checks/numerics.js'
import {OPTION_CHECKS} from './checks/options.js'
import {RECURRENCE} from './checks/recurrence.js'
import {SHAPE_CHECKS} from './checks/shapes.js'
import {UNBIASEDNESS} from './checks/unbiasedness.js'
import {WORK} from './checks/work.js'
import {
  CHECK_SECONDS,
  type Check,
  type CheckGroup,
  type CheckOutcome,
  type Subject,
} from './types.js'

export {
  CHECK_GROUPS,
  CHECK_STATUSES,
  type CheckGroup,
  type CheckOutcome,
  type CheckStatus,
} from './types.js'

/** All of them, in the order in which they run. */
export const CHECKS: readonly Check[] = [
  ...FACTS,
  ...WORK,
  ...SHAPE_CHECKS,
  ...LAWS,
  ...EXPLICIT,
  ...VIEW_CHECKS,
  ...RECURRENCE,
  ...DRAW_CHECKS,
  ...NUMERICS,
  ...GRADIENTS,
  ...OPTION_CHECKS,
  ...BACKEND_CHECKS,
  ...UNBIASEDNESS,
  ...EXACTNESS,
]

/** What is asked of {@link checkEstimator}. */
export interface CheckRequest {
  /** A name of the registry. */
  method: string
  groups: readonly CheckGroup[]
  seed: number
  /**
   * Draws of each statistical comparison, four times as many for variances. Default: the number that a verdict needs.
   */
  draws?: number | undefined
  /** Processor time that each statistical check may take, unless the draws are given. Default: {@link CHECK_SECONDS} */
  seconds?: number | undefined
  /** Called before each check. */
  onCheck?(name: string, done: number, total: number): void
}

/** All checks of the groups, one after the other, on the backend cpu. */
export async function checkEstimator(request: CheckRequest): Promise<CheckOutcome[]> {
  const {method, groups, seed, draws, seconds = CHECK_SECONDS, onCheck} = request
  await useBackend(JUDGE)
  const subject: Subject = {method, estimator: estimatorNamed(method), seed, draws, seconds}
  const asked = CHECKS.filter(({group}) => groups.includes(group))
  const outcomes: CheckOutcome[] = []
  for (const [done, check] of asked.entries()) {
    onCheck?.(check.name, done, asked.length)
    await new Promise(resolve => setImmediate(resolve)) // signals and what is drawn have their turn
    outcomes.push(shortened(await outcomeOf(check, subject), outcomes))
  }
  return outcomes
}

/** The outcome, without its message if an earlier check ended with the same one. */
function shortened(outcome: CheckOutcome, earlier: readonly CheckOutcome[]): CheckOutcome {
  const {status, finding} = outcome
  const same = earlier.find(other => status === 'failed' && other.finding === finding)
  return same ? {...outcome, finding: `as in ${same.check}`, advice: ''} : outcome
}

/** Codes of errors about what an estimator itself throws or returns. */
const OF_ESTIMATORS: readonly string[] = ['PLUGIN_FAILED', 'BAD_PLUGIN', 'NOT_FINITE']

/** What a check finds; one that throws has failed. */
async function outcomeOf(
  {name: check, group, run}: Check,
  subject: Subject,
): Promise<CheckOutcome> {
  try {
    return {check, group, ...(await run(subject))}
  } catch (error) {
    const finding = `threw: ${messageOf(error)}`
    const own = error instanceof RfaError && OF_ESTIMATORS.includes(error.code)
    const advice = own ? 'the part that the message names: the estimator threw or gave this' : ''
    return {check, group, status: 'failed', tried: [], finding, advice}
  }
}
