/** Learned maps of landmark means in double precision. */
import {add, type BoundedMatrix, exactly, layerNorm, matMul} from '../bounded.js'
import type {TwinInputs} from './types.js'

/** `layerNorm(x W^T + b) g + h` with what is given of one side. */
export function mapLandmarks(
  x: BoundedMatrix,
  side: 'query' | 'key',
  {parameters}: TwinInputs,
): BoundedMatrix {
  const row = (name: string) => {
    const array = parameters[`${side}${name}`]
    return array && exactly(array.data, 1, x.columns)
  }
  const weight = parameters[`${side}Weight`]
  let out = x
  if (weight) out = matMul(out, exactly(weight.data, x.columns, x.columns), true)
  const bias = row('Bias')
  if (bias) out = add(out, bias)
  const gain = row('NormWeight')
  const shift = row('NormBias')
  return gain || shift ? layerNorm(out, 1e-5, gain, shift) : out
}
