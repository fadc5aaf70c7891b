/** Operations and bytes of calls, as estimators and the meter of memory count them. */
import {footprint} from '../attention/internal.js'
import {meteredBackend} from '../backends/index.js'
import {plainSpec} from '../experiments/axes.js'
import {benchShape} from '../experiments/bench/cost/work.js'
import {BASELINES} from '../experiments/bench/fields/baselines.js'
import {type ResolvedMethod, resolveMethod} from '../experiments/method.js'
import type {LayerShape} from './plans.js'
import type {Counted, Variant} from './times.js'

/** Counts for a layer. @param variants - every method that is asked for later, besides the exact forms */
export async function countsOf(
  {batch, heads, head_dim, value_dim, causal}: LayerShape,
  variants: readonly Variant[],
): Promise<Counted> {
  const backend = await meteredBackend('auto')
  const exact = BASELINES.map(plainSpec)
  const resolved = new Map<string, ResolvedMethod>()
  for (const spec of [...exact, ...variants]) {
    if (!resolved.has(spec.method)) resolved.set(spec.method, await resolveMethod(spec))
  }
  const call = ({method, num_features}: Variant, seq_len: number) => ({
    method: resolved.get(method)!,
    shape: benchShape({batch, heads, seq_len, head_dim, value_dim, num_features, causal}),
  })
  return {
    flops(variant, length) {
      const {method, shape} = call(variant, length)
      return method.estimator.cost(shape, method.options).flops
    },
    bytes(variant, length) {
      const {method, shape} = call(variant, length)
      const held = footprint(method.estimator, method.options, shape, backend)
      return Math.max(0, held - 4 * batch * heads * length * value_dim)
    },
  }
}
