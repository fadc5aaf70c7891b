/** Generating tokens one at a time: random features against the exact cache. */
import * as tf from '@tensorflow/tfjs-core'
import {decoder, useBackend} from '../dist/src/index.js'
import {draw} from './engine.js'

/**
 * Time to pass `tokens` tokens through a decoder, and the state it holds at the end.
 *
 * @param method - `rfa` with numFeatures random vectors, or `softmax`
 */
export async function decodeTokens({method, heads, headDim, numFeatures, tokens}, backend) {
  await useBackend(backend, backend === 'native' ? {threads: 1} : {})
  const step = decoder({method, heads, headDim, valueDim: headDim, numFeatures})
  // sixteen tokens stand for all: their values do not change the work
  const sets = Array.from({length: 16}, (_, i) =>
    ['query', 'key', 'value'].map(name =>
      tf.tensor4d(draw(`${name}.${i}`, heads * headDim), [1, heads, 1, headDim]),
    ),
  )
  const start = process.hrtime.bigint()
  for (let t = 0; t < tokens; t++) step.next(...sets[t % sets.length]).dispose()
  const ns = Number(process.hrtime.bigint() - start)
  const stateBytes = usedBytes(step.state)
  step.dispose()
  tf.dispose(sets)
  return {ns, stateBytes}
}

/** Bytes of the state in use: of a cache the rows written, not its capacity. */
function usedBytes(state) {
  return Object.values(state).reduce((sum, tensor) => sum + 4 * tensor.size, 0)
}
