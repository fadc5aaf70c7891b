/** What a cell of a benchmark computes: its call, and operations. */
import type {CallShape} from '../../../attention/index.js'
import {callShape, type ResolvedMethod} from '../../method.js'
import type {BenchCell} from '../schema.js'
import {decodeFlops} from './decode-costs.js'
import {layerFlops} from './layer-costs.js'
import {type ModelSize, modelFlops} from './model-costs.js'

export function benchShape(
  cell: Pick<
    BenchCell,
    'batch' | 'heads' | 'seq_len' | 'head_dim' | 'value_dim' | 'num_features' | 'causal'
  >,
): CallShape {
  const {batch, heads, seq_len, head_dim, value_dim} = cell
  const sizes = {batch, heads, queryLen: seq_len, keyLen: seq_len}
  return callShape({...sizes, headDim: head_dim, valueDim: value_dim}, cell)
}

/** Floating-point operations of a timed run. @param model - the model of the cell, if it has one */
export function workOf(cell: BenchCell, method: ResolvedMethod, model?: ModelSize): number {
  const shape = benchShape(cell)
  if (model) return modelFlops({cell, method, shape}, model)
  if (cell.mode === 'decode') return decodeFlops({method, shape})
  const {flops} = method.estimator.cost(shape, method.options)
  return cell.mode === 'layer' ? flops + layerFlops(cell) : flops
}

/** How many times longer a cell takes: its parts together take about as long as the whole, and run about as often. */
export function breakdownFactor({estimator}: ResolvedMethod): number {
  return estimator.parts ? 2 : 1
}
