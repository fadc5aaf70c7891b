import type {CallShape} from '../../../attention/index.js'
import {footprint, type MeteredBackend} from '../../../attention/internal.js'
import {estimatorNamed} from '../../../attention/names.js'
import type {Model} from '../../../model/index.js'
import type {ResolvedMethod} from '../../method.js'
import {layerBytesPerToken} from '../../model-memory.js'
import {UNCOLLECTED} from '../../process-memory.js'
import {CACHED, MODELS_OWN} from '../fields/baselines.js'
import type {BenchCell} from '../schema.js'
import {type Decode, decodeFlops, stateBytes} from './decode-costs.js'

const FLOAT = 4

export type ModelSize = Pick<Model, 'sizes'> & {
  facts: Pick<Model['facts'], 'layers' | 'causal' | 'vocabulary' | 'width'>
}

interface ModelRun {
  cell: BenchCell
  method: ResolvedMethod
  /** Its call of attention. */
  shape: CallShape
}

/** Floating-point operations of a forward: products with all weights, and attention of exchanged and of other layers. */
export function modelFlops({cell, method, shape}: ModelRun, {facts, sizes}: ModelSize): number {
  const tokens = cell.batch * cell.seq_len
  const exchanged = cell.layers?.length ?? 0
  const flopsOf = (own: Decode['method']) =>
    cell.mode === 'decode'
      ? decodeFlops({method: own, shape})
      : own.estimator.cost(shape, own.options).flops
  const own = flopsOf(method)
  const kept = cell.mode === 'decode' ? CACHED : MODELS_OWN
  const others = flopsOf({estimator: estimatorNamed(kept), options: {}})
  const products = 2 * tokens * (facts.layers * sizes.layer + sizes.head)
  return products + exchanged * own + (facts.layers - exchanged) * others
}

export function weightBytes({facts, sizes}: ModelSize): number {
  return FLOAT * (facts.layers * sizes.layer + sizes.head)
}

/** Peak of a forward, without weights: what one layer makes, and all logits; of a decode, embeddings and states. */
export function modelRunBytes(
  {cell, method, shape}: ModelRun,
  {facts, sizes}: ModelSize,
  backend: MeteredBackend,
): number {
  const tokens = cell.batch * cell.seq_len
  if (cell.mode === 'decode') {
    const exchanged = cell.layers?.length ?? 0
    const cache = {estimator: estimatorNamed(CACHED), options: {}}
    const states =
      exchanged * stateBytes({method, shape}) +
      (facts.layers - exchanged) * stateBytes({method: cache, shape})
    return UNCOLLECTED + FLOAT * tokens * facts.width + 2 * states
  }
  const attention = footprint(method.estimator, method.options, shape, backend)
  const layer = tokens * layerBytesPerToken({facts, sizes}) + attention
  const logits = facts.causal ? FLOAT * tokens * facts.vocabulary : 0
  return UNCOLLECTED + Math.max(layer, logits)
}
