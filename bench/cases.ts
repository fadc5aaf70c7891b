/** What is timed: methods at shapes, with the work that is counted for each. */
import {type Estimator, loadEstimators, type MethodName} from '../src/index.js'

/** The standard shape: 8 heads, D = Dv = 64, M = 256 random vectors (128 for sin/cos: 256 features). */
export const SHAPE = {heads: 8, headDim: 64, numFeatures: 256}

/** Attention over a whole sequence of one method. */
export interface AttentionCase {
  kind: 'attention'
  name: string
  method: MethodName
  heads: number
  headDim: number
  numFeatures: number
  /** L, of queries and keys */
  length: number
  causal: boolean
  /** What the estimator's cost function counts, a multiply-add counting two. */
  flops: number
}

/** A plain tensor operation; `flops` is null where bytes are what counts. */
export interface OperationCase {
  kind: 'operation'
  name: string
  op: OperationName
  flops: number | null
}

export type KernelCase = AttentionCase | OperationCase

/** In the order of the table. */
const METHODS = ['softmax-online', 'favor-pos', 'favor-relu', 'rfa', 'elu'] as const

/** Cases of attention over whole sequences, in the order of the table. @param lengths - L */
export async function attentionCases(lengths: readonly number[]): Promise<AttentionCase[]> {
  const cases = lengths.flatMap(length =>
    METHODS.flatMap(method =>
      [false, true].map(causal => {
        const numFeatures = method === 'rfa' ? SHAPE.numFeatures / 2 : SHAPE.numFeatures
        return attentionCase(method, {...SHAPE, numFeatures, length, causal})
      }),
    ),
  )
  return (await Promise.all(cases)).filter(given => given !== undefined)
}

/** A method at a shape; `undefined` where it has no such form. */
export async function attentionCase(
  method: MethodName,
  sizes: Pick<AttentionCase, 'heads' | 'headDim' | 'numFeatures' | 'length' | 'causal'>,
): Promise<AttentionCase | undefined> {
  const {heads, headDim, numFeatures, length, causal} = sizes
  const estimator: Estimator = (await loadEstimators())[method]
  if (causal && !estimator.supports.causal) return undefined
  const shape = {batch: 1, heads, queryLen: length, keyLen: length, headDim, valueDim: headDim}
  const options = estimator.options.parse({})
  const {flops} = estimator.cost({...shape, numFeatures, causal}, options)
  const name = `${method}${causal ? ' causal' : ''}`
  return {kind: 'attention', name, method, ...sizes, flops}
}

const OPERATIONS = [
  ['matMul [8,2048,64]x[8,64,2048]', 'matMulWide', 2 * 8 * 2048 * 64 * 2048],
  ['matMul [8,2048,2048]x[8,2048,64]', 'matMulDeep', 2 * 8 * 2048 * 64 * 2048],
  ['exp 1M', 'exp', null],
  ['sin 1M', 'sin', null],
  ['add 1M + row', 'addRow', null],
  ['softmax rows 1k x 1k', 'softmax', null],
  ['transpose [8,2048,64]', 'transpose', null],
] as const
export type OperationName = (typeof OPERATIONS)[number][1]

/** Cases of plain tensor operations. */
export const OPERATION_CASES = OPERATIONS.map(
  ([name, op, flops]): OperationCase => ({kind: 'operation', name, op, flops}),
)
