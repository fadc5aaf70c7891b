import {tf} from '../../tf.js'
import {reciprocalOrZero} from './masking.js'
import {matMul} from './mat-mul.js'

export interface PseudoInverseOptions {
  /** Steps; each multiplies small singular values of Z A by 3.25, and near 1 errors fall with the fourth power. */
  iterations: number
  /** Maxima of the first scale: of each matrix, or of all together. */
  scaleOver: 'matrix' | 'batch'
}

/**
 * Iterated pseudo-inverse: `Z <- Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4` from
 * `Z = A^T / (largest column sum x largest row sum)`.
 *
 * @param matrix - A, `[N, I, J]`
 * @returns Z, `[N, J, I]`; zero for a zero matrix
 *
 * Source: Razavi, Kerayechian, Gachpazan, Shateyi 2014, doi:10.1155/2014/563787, as in Xiong et al. 2021,
 * arXiv:2102.03902, equation 11.
 */
export function pseudoInverse(
  matrix: tf.Tensor3D,
  {iterations, scaleOver}: PseudoInverseOptions,
): tf.Tensor3D {
  const size = tf.abs(matrix)
  const axes = scaleOver === 'matrix' ? [1, 2] : [0, 1, 2]
  const columns = tf.max(tf.sum(size, 1, true), axes, true)
  const rows = tf.max(tf.sum(size, 2, true), axes, true)
  const identity = tf.expandDims(tf.eye(matrix.shape[1]), 0)
  let inverse = tf.mul(
    tf.transpose(matrix, [0, 2, 1]),
    reciprocalOrZero(tf.mul(columns, rows)),
  ) as tf.Tensor3D
  for (let step = 0; step < iterations; step++) {
    const near = matMul(matrix, inverse) // [N, I, I]
    const from = (factor: number, rest: tf.Tensor3D): tf.Tensor3D =>
      tf.sub(tf.mul(identity, factor), rest)
    const inner = from(15, matMul(near, from(7, near)))
    inverse = tf.mul(matMul(inverse, from(13, matMul(near, inner))), 0.25)
  }
  return inverse
}
