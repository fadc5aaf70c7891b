/** The shapes at which backends are compared. */
import {type Estimator, loadEstimators, type MethodName} from '../src/index.js'
import type {AttentionCase} from './cases.js'

export const METHODS: readonly MethodName[] = [
  'softmax',
  'softmax-online',
  'favor-pos',
  'rfa',
  'lara',
  'elu',
]
const LENGTHS = [128, 512, 2048, 4096]

/** Heads, length of a head and random vectors: the standard ones, one head, and smaller ones. */
const SIZES = [
  {heads: 8, headDim: 64, numFeatures: 256},
  {heads: 1, headDim: 64, numFeatures: 256},
  {heads: 8, headDim: 32, numFeatures: 64},
]

/** Cases of attention over whole sequences, in the order of the table. */
export async function backendCases(quick: boolean): Promise<AttentionCase[]> {
  const estimators = await loadEstimators()
  const cases: AttentionCase[] = []
  for (const method of METHODS) {
    const estimator: Estimator = estimators[method]
    const forms = [false, ...(estimator.supports.causal ? [true] : [])]
    for (const causal of forms) {
      for (const sizes of quick ? SIZES.slice(0, 1) : SIZES) {
        for (const length of quick ? [128] : LENGTHS) {
          const shape = {batch: 1, queryLen: length, keyLen: length, valueDim: sizes.headDim}
          const {flops} = estimator.cost({...shape, ...sizes, causal}, estimator.options.parse({}))
          const name = `${method}${causal ? ' causal' : ''}`
          cases.push({kind: 'attention', name, method, ...sizes, length, causal, flops})
        }
      }
    }
  }
  return cases
}
