/** One grid point: all replicates of one estimator against the exact output. */
import {recordOperations} from '../../../attention/index.js'
import {isCanonicalSoftmax} from '../../../attention/internal.js'
import {useBackend} from '../../../backends/index.js'
import {sizesOf} from '../../../inputs/attention-input.js'
import {hiddenKeys} from '../../../inputs/key-mask.js'
import {judgedQueries} from '../../../inputs/masked-tokens.js'
import {finiteOrNull} from '../../../stats/index.js'
import {viewOf} from '../../axes.js'
import {computedBy} from '../../computed-by.js'
import type {CellContext, CellOutcome} from '../../experiment.js'
import {
  featureDimOf,
  matchedTarget,
  RAW_TARGET,
  type ResolvedMethod,
  resolveMethod,
  unsupportedReason,
  whyNotDrawn,
} from '../../method.js'
import {tunedOf} from '../../tuned-methods.js'
import type {ErrorSweepCell, ErrorSweepResult} from '../schema.js'
import {contextOf, featureStatistics, type SweepContext} from './context.js'
import {predictedCurves} from './predicted.js'
import {endOf, replicateRuns} from './replicates.js'
import {
  means,
  modelMeans,
  modelSummaries,
  overTexts,
  perHead,
  predictedBias,
  predictedError,
  predictedRange,
  prediction,
  querySummaries,
  replicateLists,
  rowSummaries,
  sampleSummary,
  summaries,
  yardstick,
} from './summary.js'
import {targetOf} from './truth.js'

export async function runErrorSweepCell(
  cell: ErrorSweepCell,
  how: CellContext = {},
): Promise<CellOutcome<ErrorSweepResult>> {
  const backend = await useBackend(cell.backend, {threadShare: how.threadShare})
  const method = await resolveMethod(cell)
  const target = targetOf(cell, method)
  const context = await contextOf(cell, target)
  const {query, key, keyMask} = context.input
  const form = {
    causal: cell.causal,
    cross: query.shape[2] !== key.shape[2],
    masked: keyMask !== undefined,
  }
  const reason = unsupportedReason(method, form) ?? whyNotDrawn(cell, query.shape[3])
  if (reason) return {status: 'skipped', reason}
  const tuned = await tunedOf(cell)
  const {result: runs, operations} = recordOperations(() =>
    replicateRuns({cell, method, context, target, tuned, onStep: how.onStep}),
  )
  const facts = {...inputFactsOf(context), ...computedBy(backend, how), operations}
  const own = featureStatistics(context, matchedTarget(method) ?? RAW_TARGET, viewOf(cell))
  const curves = predictedCurves(cell, method, context)
  const metrics = summaries(runs.replicates)
  const featureDim = featureDimOf(method, cell, query.shape[3])
  return {
    status: 'completed',
    result: {
      ...facts,
      feature_dim: featureDim,
      target_label: target.label,
      limit_distance: limitDistance(method, cell, context),
      truth: context.truth.precision,
      ...metrics,
      rel_l2_over_texts: overTexts(runs.replicates),
      ...querySummaries(runs.replicates),
      ...rowSummaries(runs.replicates),
      ...sampleSummary(cell, method, runs),
      ...modelSummaries(runs.replicates),
      ...means(method, runs),
      ...modelMeans(method, runs),
      ...yardstick(context, runs.replicates),
      ...predictedError(curves?.all, cell, metrics.rel_l2.median),
      ...predictedRange(curves?.all, cell, metrics.rel_l2.median),
      predicted_bias_squared: predictedBias(curves?.biasSquared, cell),
      ...prediction(method, own.perHead, query.shape[3], cell.num_features),
      statistics: context.statistics.overall,
      per_head: perHead({method, cell, context, own, curves}, runs.replicates),
      ...endOf(cell, runs.replicates),
      replicate_metrics: replicateLists(context, runs.replicates),
    },
  }
}

/**
 * How far what a method converges to is off softmax; known where it is the target, and 0 where it is softmax. Learned parameters
 * move it.
 */
function limitDistance(
  {estimator, options, tuned}: ResolvedMethod,
  {target}: Pick<ErrorSweepCell, 'target'>,
  {distance}: SweepContext,
): number | null {
  const limit = estimator.target(options)
  if (limit === undefined || tuned) return null
  if (isCanonicalSoftmax(limit)) return 0
  return target === 'matched' ? finiteOrNull(distance) : null
}

/** The input, as records describe it. */
function inputFactsOf({input, logitScale}: Pick<SweepContext, 'input' | 'logitScale'>) {
  const {batch, heads, queryLen, keyLen, headDim, valueDim} = sizesOf(input)
  return {
    ...{batch, heads, query_len: queryLen, key_len: keyLen},
    ...{head_dim: headDim, value_dim: valueDim},
    key_heads: input.keyHeads ?? null,
    logit_scale: logitScale,
    hidden_keys: hiddenKeys(input.keyMask),
    judged_queries: input.keyMask ? judgedQueries(input) : null,
    ran_causal: input.ranCausal ?? null,
  }
}
