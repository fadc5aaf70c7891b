/** What is timed: methods at shapes, with the work that is counted for each. */

/** The standard shape: 8 heads, D = Dv = 64, M = 256 random vectors (128 for sin/cos: 256 features). */
export const SHAPE = {heads: 8, headDim: 64, numFeatures: 256}

/**
 * Floating-point operations of one call, a multiply-add counting two. Causal linear forms count as
 * their bidirectional ones: what they do beyond is the price of causality.
 */
const WORK = {
  'softmax-online': ({heads: H, length: L, headDim: D, causal}) =>
    (4 * H * L * L * D) / (causal ? 2 : 1),
  'favor-pos': ({heads: H, length: L, headDim: D, numFeatures: M}) => 8 * H * L * M * D,
  'favor-relu': ({heads: H, length: L, headDim: D, numFeatures: M}) => 8 * H * L * M * D,
  rfa: ({heads: H, length: L, headDim: D, numFeatures: M}) => 12 * H * L * M * D,
  elu: ({heads: H, length: L, headDim: D}) => 4 * H * L * D * D,
}

/** Cases of attention over whole sequences, in the order of the table. @param lengths - L */
export function attentionCases(lengths) {
  return lengths.flatMap(length =>
    Object.keys(WORK).flatMap(method =>
      [false, true].map(causal => {
        const numFeatures = method === 'rfa' ? SHAPE.numFeatures / 2 : SHAPE.numFeatures
        const shape = {...SHAPE, numFeatures, length, causal}
        const name = `${method}${causal ? ' causal' : ''}`
        return {kind: 'attention', name, method, ...shape, flops: WORK[method](shape)}
      }),
    ),
  )
}

/** Cases of plain tensor operations; `flops` is null where bytes are what counts. */
export const OPERATION_CASES = [
  {name: 'matMul [8,2048,64]x[8,64,2048]', op: 'matMulWide', flops: 2 * 8 * 2048 * 64 * 2048},
  {name: 'matMul [8,2048,2048]x[8,2048,64]', op: 'matMulDeep', flops: 2 * 8 * 2048 * 64 * 2048},
  {name: 'exp 1M', op: 'exp', flops: null},
  {name: 'sin 1M', op: 'sin', flops: null},
  {name: 'add 1M + row', op: 'addRow', flops: null},
  {name: 'softmax rows 1k x 1k', op: 'softmax', flops: null},
  {name: 'transpose [8,2048,64]', op: 'transpose', flops: null},
].map(given => ({kind: 'operation', ...given}))
