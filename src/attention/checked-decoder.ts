/** The decoder that callers get: tokens are checked, and nothing goes on after `dispose`. */
import type * as tf from '@tensorflow/tfjs-core'
import {expected, RfaError} from '../errors.js'
import {checkTensor, hasShape, stepMismatch} from './check-tensor.js'
import type {Estimator} from './forms/estimator.js'
import type {CallShape, Decoder} from './types.js'

/** A decoder behind checks that every backend shares. @param estimator - its name, and whether it takes gates */
export function checkedDecoder(
  {name, takesGate}: Pick<Estimator, 'name' | 'takesGate'>,
  {batch, heads, headDim, valueDim}: Pick<CallShape, 'batch' | 'heads' | 'headDim' | 'valueDim'>,
  inner: Decoder,
): Decoder {
  const row = [batch, heads, 1, headDim]
  const valueRow = [batch, heads, 1, valueDim]
  const gateRow = [batch, heads, 1]
  let live = true
  const checkGate = (gate: tf.Tensor) => {
    if (!takesGate) throw new RfaError('UNSUPPORTED', `${name}: has no gate`)
    checkToken('gate', gate, gateRow)
  }
  return {
    next(query, key, value, gate) {
      if (!live) throw gone()
      checkToken('query', query, row)
      checkToken('key', key, row)
      checkToken('value', value, valueRow)
      if (gate !== undefined) checkGate(gate)
      return inner.next(query, key, value, gate)
    },
    get stateBytes() {
      return inner.stateBytes
    },
    get state() {
      if (!live) throw gone()
      return inner.state
    },
    dispose() {
      if (!live) return
      live = false
      inner.dispose()
    },
  }
}

function checkToken(name: string, tensor: tf.Tensor, shape: readonly number[]): void {
  // the common case first, for small steps take little more than a microsecond
  const usable = tensor?.dtype === 'float32' && !tensor.isDisposed
  if (usable && hasShape(tensor.shape, shape)) return
  checkTensor(`decoder.${name}`, tensor)
  throw stepMismatch(name, shape, tensor.shape)
}

function gone(): RfaError {
  const remedy = 'make another decoder with decoder(...)'
  return expected('BAD_OPTION', 'decoder', 'a decoder in use', 'a disposed one', remedy)
}
