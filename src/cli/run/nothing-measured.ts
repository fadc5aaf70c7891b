/** A run in which nothing ran is no success, though nothing failed. */
import {baselinesOf} from '../../experiments/bench/fields/baselines.js'
import type {BenchPlan} from '../../experiments/bench/schema.js'
import {troubleItems} from '../../experiments/labels.js'
import type {CellRecord, Plan} from '../../results/record.js'

/** What to do about a reason for which cells are skipped. */
function remedyOf(reason: string, plan: Plan): string[] {
  if (reason !== 'causal only' && reason !== 'bidirectional only') return []
  // models that are read, or trained, say themselves which tokens they see
  if (['swap', 'train'].includes(plan.experiment) || (plan as BenchPlan).model) {
    const form = reason === 'causal only' ? 'bidirectional' : 'causal'
    return [`name methods with a ${form} form: rfa methods lists them`]
  }
  if (reason === 'causal only') return ['add `causal`']
  if (plan.experiment === 'bench' && (plan as BenchPlan).mode === 'decode') {
    return ['`mode: decode` needs a method with a causal form: see rfa methods']
  }
  return [plan.input ? 'say `noCausal`' : 'leave `causal` out']
}

type SweepRecord = Parameters<typeof troubleItems>[0][number]

/**
 * Why nothing was measured of all that was asked for, with what to do about it; the exact forms that a benchmark adds
 * were not asked for.
 *
 * @returns `undefined` if some cell completed, or failed and is reported elsewhere
 */
export function nothingMeasured(plan: Plan, records: readonly CellRecord[]): string | undefined {
  const asked = askedFor(plan, records as readonly SweepRecord[])
  if (asked.length === 0 || asked.some(({status}) => status !== 'skipped')) return undefined
  const reasons = asked.flatMap(record => (record.status === 'skipped' ? [record.reason] : []))
  const remedies = [...new Set(reasons)].flatMap(reason => remedyOf(reason, plan))
  const none = asked.length < records.length ? 'no method besides the exact forms' : 'nothing'
  return [`${none} was measured: ${troubleItems(asked).join('; ')}`, ...remedies].join('; ')
}

function askedFor(plan: Plan, records: readonly SweepRecord[]): readonly SweepRecord[] {
  if (plan.experiment !== 'bench') return records
  const added = baselinesOf((plan as BenchPlan).mode)
  const others = records.filter(({cell}) => !added.includes(cell.method))
  return others.length > 0 ? others : records
}
