/** One pair of vectors, one method, one budget: the kernel estimate over many draws of every projection. */
import type {Estimator} from '../../../attention/index.js'
import type {KernelFacts} from '../../../attention/internal.js'
import {useBackend} from '../../../backends/index.js'
import {finiteOrNull} from '../../../stats/index.js'
import {computedBy} from '../../computed-by.js'
import type {CellContext, CellOutcome} from '../../experiment.js'
import {resolveMethod} from '../../method.js'
import {CALIBRATION_PAIRS} from '../pairs.js'
import {replicatesOf, type VarianceCell, type VarianceResult} from '../schema.js'
import {isTurned, NO_PROJECTION} from './batch.js'
import {type EstimateRequest, estimateRequest, kernelEstimates} from './estimates.js'
import {exactFields, exactOf, NOTHING_KNOWN} from './exact.js'
import {LOG_DRAWS, type LogSummary, logSummary} from './logarithms.js'
import {drawRows} from './sequential.js'
import {isWithoutSpread, type ProjectionRow, type Theory} from './spread.js'

export async function runVarianceCell(
  cell: VarianceCell,
  how: CellContext = {},
): Promise<CellOutcome<VarianceResult>> {
  const backend = await useBackend(cell.backend, {threadShare: how.threadShare})
  const {estimator, options, projected, random} = await resolveMethod(cell)
  const {kernel} = estimator
  if (!random) return {status: 'skipped', reason: 'has no random features'}
  if (!kernel) return {status: 'skipped', reason: 'states no kernel that its features estimate'}
  const withoutEffect = idleOptions(estimator, kernel, options)
  const reason = whyNoEstimate(cell, estimator, options, withoutEffect)
  if (reason !== undefined) return {status: 'skipped', reason}
  const request = estimateRequest(cell, estimator, options)
  const {x, y, calibration} = request
  const {num_features: numFeatures, head_dim: headDim} = cell
  const theory: Theory = {
    moments: kernel.moments(x, y, {numFeatures, options, calibration}),
    bounded: kernel.bounded ?? false,
    featureDim: estimator.featureDim(numFeatures, headDim, options),
  }
  const names = projected ? cell.projections : [NO_PROJECTION]
  const drawn = drawRows(request, theory, names, how.onStep)
  return {
    status: 'completed',
    result: {
      ...computedBy(backend, how),
      feature_dim: theory.featureDim,
      kernel: kernel.formula(options),
      expectation: finiteOrNull(theory.moments.mean),
      closed_form_variance: finiteOrNull(theory.moments.variance),
      closed_form_kurtosis: finiteOrNull(theory.moments.kurtosis),
      calibration_pairs: estimator.calibrates ? CALIBRATION_PAIRS : null,
      without_effect: withoutEffect,
      draws: replicatesOf(cell).until_ci ? drawn.replicates : null,
      per_projection: drawn.rows.map(row => {
        const exact = isWithoutSpread(theory) ? NOTHING_KNOWN : exactOf(request, row.projection)
        const logarithms = logarithmsOf(request, theory, row)
        const all_directions = isTurned(row.projection, cell.orth_sign)
        const known = exactFields(exact, theory.moments.variance, row)
        return {...row, all_directions, ...known, logarithms}
      }),
    },
  }
}

/** Logarithms of some draws of a row that is withheld because of its tail. */
function logarithmsOf(
  request: EstimateRequest,
  {moments}: Theory,
  row: ProjectionRow,
): LogSummary | null {
  if (row.withheld === null || row.variance !== null || !(moments.mean > 0)) return null
  if (!Number.isFinite(moments.mean)) return null
  const replicates = Math.min(LOG_DRAWS, request.cell.replicates)
  const estimates = kernelEstimates(request, row.projection, undefined, {replicates})
  return logSummary(estimates, moments.mean)
}

/** Options off their defaults that do not change the features of a pair, with the reasons. */
function idleOptions(
  {options: schema}: Estimator,
  kernel: KernelFacts<Record<string, unknown>>,
  options: Record<string, unknown>,
): Record<string, string> {
  const defaults = schema.parse({}) as Record<string, unknown>
  const idle = Object.entries(kernel.idle(options) as Record<string, string>)
  return Object.fromEntries(idle.filter(([name]) => options[name] !== defaults[name]))
}

/** Why a cell must not show numbers under its label, if it must not. */
function whyNoEstimate(
  {preset}: VarianceCell,
  estimator: Estimator,
  options: Record<string, unknown>,
  withoutEffect: Record<string, string>,
): string | undefined {
  const refused = estimator.kernel!.refuses?.(options)
  if (refused !== undefined) return refused
  const defaults = estimator.options.parse({}) as Record<string, unknown>
  const changed = Object.keys(options).filter(name => options[name] !== defaults[name])
  if (changed.length === 0) {
    return preset === 'exact' ? undefined : 'has the features of the exact form with this preset'
  }
  if (changed.some(name => !(name in withoutEffect))) return undefined
  return `has the kernel estimate of the exact form: ${effectReasons(withoutEffect)}`
}

/** `denGuard: why; prefix: why`. */
function effectReasons(withoutEffect: Record<string, string>): string {
  const byReason = new Map<string, string[]>()
  for (const [name, reason] of Object.entries(withoutEffect)) {
    byReason.set(reason, [...(byReason.get(reason) ?? []), name])
  }
  return [...byReason].map(([reason, names]) => `${names.join(', ')}: ${reason}`).join('; ')
}
