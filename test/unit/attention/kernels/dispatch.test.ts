import * as tf from '@tensorflow/tfjs-core'
import {afterEach, beforeAll, describe, expect, it} from 'vitest'
import {attention, fusedOrComposite, recordOperations} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute, hostInputs, SMALL, toTensors} from '../../../helpers/arrays.js'

const NAME = 'OperationOfThisTest'

beforeAll(() => useBackend('cpu'))
afterEach(() => {
  if (tf.getKernel(NAME, 'cpu')) tf.unregisterKernel(NAME, 'cpu')
})

function runOnce(x: tf.Tensor): tf.Tensor {
  return fusedOrComposite(NAME, {x, absent: undefined}, {factor: 3}, () => [tf.mul(x, 3)])[0]!
}

describe('an operation', () => {
  it('runs its composite definition where no fused kernel is registered', () => {
    const {result, operations} = recordOperations(() => compute(() => runOnce(tf.tensor1d([1, 2]))))
    expect(Array.from(result)).toEqual([3, 6])
    expect(operations).toEqual({[NAME]: 'composite'})
  })

  it('runs the fused kernel of the current backend, with the inputs that are there and the attributes', () => {
    const seen: unknown[] = []
    tf.registerKernel({
      kernelName: NAME,
      backendName: 'cpu',
      kernelFunc: ({inputs, attrs}) => {
        seen.push(Object.keys(inputs), attrs)
        return tf.mul(inputs.x as tf.Tensor, -1)
      },
    })
    const {result, operations} = recordOperations(() => compute(() => runOnce(tf.tensor1d([1, 2]))))
    expect(Array.from(result)).toEqual([-1, -2])
    expect(operations).toEqual({[NAME]: 'fused'})
    expect(seen).toEqual([['x'], {factor: 3}])
  })

  it('records every operation of an estimator, sorted, and nothing after an error', () => {
    const run = () =>
      compute(() => attention(...toTensors(hostInputs(SMALL)), {method: 'rfa', numFeatures: 7}))
    expect(Object.keys(recordOperations(run).operations)).toContain('LinearAttention')
    expect(() =>
      recordOperations(() => {
        throw new Error('inside')
      }),
    ).toThrow('inside')
    expect(recordOperations(() => 1)).toEqual({result: 1, operations: {}})
  })
})
