/** Generating tokens one at a time: random features against the exact cache. */
import * as tf from '@tensorflow/tfjs-core'
import {type BackendName, type Decoder, decoder, useBackend} from '../src/index.js'
import type {DecodeCase} from './cases.js'
import {draw} from './engine.js'

/** Time to pass the tokens of a case through a decoder, and the state it holds at the end. */
export async function decodeTokens(
  {method, heads, headDim, numFeatures, tokens}: DecodeCase,
  backend: BackendName,
): Promise<{ns: number; stateBytes: number}> {
  await useBackend(backend, backend === 'native' ? {threads: 1} : {})
  const step = decoder({method, heads, headDim, valueDim: headDim, numFeatures})
  // sixteen tokens stand for all: their values do not change the work
  const token = (name: string, i: number) =>
    tf.tensor4d(draw(`${name}.${i}`, heads * headDim), [1, heads, 1, headDim])
  const sets = Array.from(
    {length: 16},
    (_, i) => [token('query', i), token('key', i), token('value', i)] as const,
  )
  const start = process.hrtime.bigint()
  for (let t = 0; t < tokens; t++) step.next(...sets[t % sets.length]!).dispose()
  const ns = Number(process.hrtime.bigint() - start)
  const stateBytes = usedBytes(step.state)
  step.dispose()
  tf.dispose(sets.flat())
  return {ns, stateBytes}
}

/** Bytes of the state in use: of a cache the rows written, not its capacity. */
function usedBytes(state: Decoder['state']): number {
  return Object.values(state).reduce((sum, tensor) => sum + 4 * tensor.size, 0)
}
